"""Figures of CrowdRAG's Tables 4 to 9 as printed, a row a dimension in the order of DIMENSIONS.

Gienapp et al., "The Viability of Crowdsourcing for RAG Evaluation" (SIGIR 2025).
"""

from __future__ import annotations

SHORT = (
    "topical correctness",
    "logical coherence",
    "stylistic coherence",
    "broad coverage",
    "deep coverage",
    "internal consistency",
    "overall quality",
)

TABLE4 = {
    "all pairs, C": (0.19, 0.18, 0.11, 0.28, 0.28, 0.14, 0.17),
    "all pairs, C*": (0.43, 0.39, 0.38, 0.44, 0.45, 0.42, 0.39),
    "minimal difference, C": (-0.11, 0.03, -0.08, -0.07, -0.04, -0.12, -0.12),
    "minimal difference, experts": (-0.01, 0.09, 0.08, 0.01, 0.10, -0.14, 0.08),
    "differentiable, C": (0.28, 0.23, 0.17, 0.37, 0.36, 0.22, 0.24),
    "differentiable, C*": (0.48, 0.46, 0.44, 0.51, 0.51, 0.49, 0.47),
}
TABLE4_MEAN = dict(zip(TABLE4, (0.19, 0.41, -0.07, 0.03, 0.27, 0.48), strict=True))
# Seven dimensions and their mean.
TABLE4_POINTWISE = (0.22, 0.21, 0.21, 0.23, 0.21, 0.21, 0.19, 0.21)
TABLE4_ITEMS = {"all pairs": 1352, "minimal difference": 290, "differentiable": 1062}

TABLE5 = {
    "one direction": (0.18, 0.18, 0.08, 0.27, 0.27, 0.13, 0.16),
    "other direction": (0.19, 0.19, 0.14, 0.28, 0.27, 0.15, 0.17),
    "both directions": (0.17, 0.18, 0.10, 0.26, 0.26, 0.14, 0.15),
    "largest difference": (0.02, 0.01, 0.04, 0.02, 0.01, 0.01, 0.02),
    "first 7 items": (0.18, 0.18, 0.11, 0.28, 0.28, 0.13, 0.15),
    "later items": (0.20, 0.18, 0.11, 0.28, 0.27, 0.16, 0.18),
    "early against late": (0.01, 0.00, 0.00, 0.00, 0.01, 0.02, 0.03),
}
TABLE5_MEAN = dict(zip(TABLE5, (0.18, 0.20, 0.18, 0.01, 0.19, 0.20, 0.01), strict=True))

TABLE6 = (  # the upper triangle, row by row
    0.30,
    0.35,
    0.42,
    0.46,
    0.45,
    0.52,
    0.34,
    0.18,
    0.20,
    0.30,
    0.37,
    0.23,
    0.29,
    0.36,
    0.36,
    0.57,
    0.38,
    0.42,
    0.40,
    0.43,
    0.45,
)
TABLE6_MEAN = (0.42, 0.28, 0.32, 0.37, 0.39, 0.39, 0.43)

TABLE7 = {  # mean grades of human, LLM, both in each style; then human and LLM in all styles
    "bullet": (
        (2.8, 4.5, 3.7),
        (4.2, 5.4, 4.8),
        (3.2, 4.3, 3.7),
        (3.5, 4.6, 4.0),
        (3.6, 4.3, 3.9),
        (3.0, 4.3, 3.6),
        (3.3, 4.9, 4.1),
    ),
    "essay": (
        (3.1, 4.1, 3.6),
        (2.7, 3.1, 2.9),
        (2.6, 4.2, 3.4),
        (2.9, 3.8, 3.3),
        (3.1, 4.1, 3.6),
        (2.9, 4.2, 3.6),
        (2.7, 4.0, 3.4),
    ),
    "news": (
        (2.7, 3.8, 3.2),
        (2.4, 3.3, 2.8),
        (2.6, 4.2, 3.4),
        (2.8, 3.4, 3.1),
        (2.7, 3.3, 3.0),
        (2.6, 3.9, 3.3),
        (2.5, 3.6, 3.1),
    ),
    "all styles": (
        (2.9, 4.2),
        (3.1, 3.9),
        (2.8, 4.2),
        (3.1, 3.9),
        (3.1, 3.9),
        (2.9, 4.1),
        (2.8, 4.2),
    ),
}
TABLE7_MEAN = {
    "bullet": (3.4, 4.6, 3.9),
    "essay": (2.9, 3.9, 3.4),
    "news": (2.6, 3.6, 3.1),
    "all styles": (3.0, 4.1),
}
# Cells (dimension, style) that the text names as not significant, and dimensions over all styles.
NOT_SIGNIFICANT = {(1, "essay"), (3, "news"), (4, "news"), (4, "bullet")}
NOT_SIGNIFICANT_ALL = {3, 4}
# Dimensions on which two styles (of STYLES) differ by the text, whoever wrote them: it names four
# strengths of bullets, and deep coverage alone between essay and news.
STYLES_DIFFER = {(0, 1): {1, 3, 4, 6}, (0, 2): {1, 3, 4, 6}, (1, 2): {4}}

TABLE8 = {  # (best against worst, full ranking) by scorer
    "BERTScore": (
        (0.354, 0.354, 0.385, 0.231, 0.262, 0.323, 0.385),
        (0.172, 0.288, 0.263, 0.183, 0.211, 0.191, 0.292),
    ),
    "BLEU": (
        (0.354, 0.477, 0.385, 0.354, 0.415, 0.323, 0.323),
        (0.211, 0.337, 0.315, 0.254, 0.269, 0.208, 0.268),
    ),
    "ROUGE-L": (
        (0.169, 0.446, 0.385, 0.231, 0.385, 0.323, 0.292),
        (0.094, 0.294, 0.243, 0.228, 0.223, 0.180, 0.255),
    ),
}

TABLE9 = {  # alpha of the LLM with itself, alpha with the gold labels, mean rho, by prompting
    "combined": (
        (0.65, 0.78, 0.82, 0.65, 0.38, 0.66, 0.64),
        (0.10, 0.16, 0.14, 0.08, 0.01, 0.12, 0.06),
        (0.80, 0.74, 0.71, 0.64, 0.72, 0.77, 0.81),
    ),
    "individual": (
        (0.87, 0.84, 0.88, 0.58, 0.37, 0.90, 0.86),
        (0.12, 0.16, 0.13, 0.06, 0.00, 0.13, 0.09),
        (0.86, 0.82, 0.82, 0.74, 0.74, 0.84, 0.86),
    ),
}
TABLE9_BOTH = (0.48, 0.53, 0.53, 0.40, 0.32, 0.49, 0.47)
