"""Texts and how many words they have, for the count in Python and the one in scripts."""

CASES: dict[str, int] = {
    "": 0,
    "Storks don’t build well-made nests - [they] repair 3 of them.": 10,
    "caf\u00e9 cafe\u0301s": 2,
    "كِتَابٌ جَدِيدٌ": 2,  # vowel signs part no word
    "हिन्दी में लिखा": 3,
    "한국어 문장입니다.": 2,
    "我喜欢读书。": 5,
    "東京タワーへ行きました。": 11,
    "GPT-4 生成了 200 字": 6,
    "𠮷野家": 3,
    "ｶﾅ": 2,
    "ภาษาไทยไม่เว้นวรรค": 4,  # 18 characters in one run
    "ພາສາລາວ ດີ": 3,
    "မြန်မာဘာသာ": 2,
    "ភាសាខ្មែរ": 2,
    "“—” … 🙂": 0,
}
