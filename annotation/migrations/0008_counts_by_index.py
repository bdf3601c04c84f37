from django.db import migrations

# Their plans are made at the first row and kept: on the empty tables of a new site they read all
# counts for each vote, so that an import of 20,000 votes took 34 s instead of one.
FUNCTIONS = (
    "crowdqc_add_counts(crowdqc_count[])",
    "crowdqc_values_counted()",
    "crowdqc_answers_counted()",
    "crowdqc_known_counted()",
    "crowdqc_add_tallies(crowdqc_tally[])",
    "crowdqc_answers_tallied()",
    "crowdqc_known_tallied()",
)
PLANS = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin")
LOOKED_UP = [
    (f"ALTER FUNCTION {name} SET {plan} = off", f"ALTER FUNCTION {name} RESET {plan}")
    for name in FUNCTIONS
    for plan in PLANS
]


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_words_not_counted"),
    ]

    operations = [migrations.RunSQL(forward, back) for forward, back in LOOKED_UP]
