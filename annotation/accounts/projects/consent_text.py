"""What workers of a new project are asked to agree to."""

CONSENT_TEXT = """\
**What you are asked to agree to.** Your answers are used to find out how good answers of people
and of language models are.

**What is recorded while you work:** your answers as you type them; when you type, delete, paste,
copy, scroll, move between fields and leave the page; the size of your window. Of a key only its
kind and time. Where you compare texts: each choice as you make it, and how long each text is on
screen or under the pointer. Where you write from passages: which of them you open, how long each
is in view, and that you search them, not for what. Where you explain a choice: the explanation,
and the sentences you point at. Where you think aloud: the transcript and what you mark in it.

**What is not recorded:** other tabs, your screen, camera or microphone.

**Who sees it:** the people who run this project, under a pseudonym. Your name is not shown to
other workers and is not in exports. Texts and explanations may be shown to other workers who judge
them, and to language models that the project uses; both without your name.

**Your rights:** you see all that is recorded of you on your own pages, and can download it there.
You may take your agreement back at any time; work done so far is still paid. You can have your
texts, explanations, transcripts and logs erased; your pseudonym, your choices and what you were
paid stay, and so does what others already made of them.
"""
