"""A conversation about one table: what could others know, what is promised, what does it cost, what else was possible?"""
