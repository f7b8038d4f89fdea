# Rules that an OpenAPI document cannot express, for schemathesis.

import schemathesis

# The HTTP server of the runtime refuses longer heads by itself, before the product sees the request.
MAX_ADDRESS = 12_000

# RFC 7644 §3.12: what a body or a parameter of the right form can still have wrong.
MEANINGS = {
    "invalidFilter",
    "invalidPath",
    "invalidValue",
    "invalidCursor",
    "invalidCount",
    "invalidSyntax",
    "noTarget",
    "mutability",
    "tooMany",
    "uniqueness",
}


@schemathesis.hook
def filter_case(context, case):
    # A character can become twelve in an address.
    sent = [*(case.query or {}).values(), *(case.path_parameters or {}).values(), *(case.headers or {}).values()]
    return sum(len(str(value)) for value in sent) * 12 < MAX_ADDRESS


@schemathesis.check
def refusal_has_a_reason(context, response, case):
    """A 400 has a scimType and a sentence, so that a client knows what to change."""
    if response.status_code != 400:
        return
    body = response.json()
    assert body.get("scimType") in MEANINGS, f"scimType {body.get('scimType')}"
    assert len(body.get("detail", "")) > 10, f"detail {body.get('detail')}"
