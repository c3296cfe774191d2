"""What our methods are compared with: plainest means, complete anonymity, public packages."""
