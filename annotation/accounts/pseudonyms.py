"""Pseudonyms: a word of nature and two digits."""

from __future__ import annotations

import re
import secrets

WORDS = (
    "alder amber aspen auk badger basalt beech birch bittern brook cedar chalk clover cobalt "
    "comet coral cormorant crane curlew dipper dune dunlin egret elder ember fern finch flint "
    "gannet garnet gorse granite grebe harrier hazel heath heron ibis iris ivy jasper juniper "
    "kestrel kite lapwing larch lark linden linnet maple marlin marten meadow merlin moss "
    "myrtle nuthatch oak onyx opal osprey otter pine pipit plover poplar puffin quail quartz "
    "raven reed robin rowan sable sage siskin slate sorrel sparrow spruce starling stoat swift "
    "tansy teal tern thistle thrush topaz vole wagtail warbler willow wren yarrow yew"
).split()


def propose_pseudonym() -> str:
    """Return a pseudonym such as ``kestrel-07``; the caller ensures that it is free."""
    return f"{secrets.choice(WORDS)}-{secrets.randbelow(100):02d}"


def is_pseudonym(name: str) -> bool:
    """Whether a name has the form of our pseudonyms."""
    word, _, number = name.partition("-")
    return word in WORDS and re.fullmatch(r"[0-9]{2}", number) is not None
