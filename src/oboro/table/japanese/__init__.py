"""Values as Japanese offices write them: dates by era, ages with 歳, amounts in 千円 and 万円, full-width digits."""
