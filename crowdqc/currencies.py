"""ISO 4217 currencies, and which of them the ledger supports (two decimals).

Active codes as of January 2026, without funds, metals, units of account and codes for testing:
nobody is paid in those.
"""

from __future__ import annotations

# Digits after the decimal point -> codes.
BY_DIGITS: dict[int, str] = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
    2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD "
    "CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ "
    "GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL "
    "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR "
    "PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT "
    "TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
    3: "BHD IQD JOD KWD LYD OMR TND",
}
DIGITS: dict[str, int] = {
    code: digits for digits, codes in BY_DIGITS.items() for code in codes.split()
}
CENTS = 2
USABLE = tuple(sorted(code for code, digits in DIGITS.items() if digits == CENTS))


def currency_problem(code: str) -> str:
    """Return why amounts cannot be kept in this currency, or ""."""
    if code not in DIGITS:
        return "This is not an active ISO 4217 code, such as EUR."
    if DIGITS[code] != CENTS:
        return f"{code} has {DIGITS[code]} decimals; only currencies with 2 can be used."
    return ""
