"""Money: rules, proposals, the ledger, payments, statements, rejections and corrections."""
