// Writes docs/drops.md from the rows of reasons: why a packet gets no answer, and why a sound one gets a Reject at once.

import { REFUSALS } from "../radius/server/request.ts";
import { DROP_REASONS } from "../radius/protocol/drop_reasons.ts";
import { PROMPTS } from "../radius/flow/prompts.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# Why a packet gets no answer, or a Reject at once

Generated from the tables of reasons by \`deno task docs\`; do not edit.

## Dropped

A dropped packet gets no answer. The log says \`dropped:\` with the reason, client and source: \`warn\` at most once a minute for each reason
and source, \`debug\` only at that level. \`/metrics\` and the console count every one. The reasons stand in the order in which a packet meets
them.
`;

const REFUSED = `## Refused

A sound packet that cannot be worked on gets an Access-Reject, no sooner than a second after it came; the log says \`request refused:\`.
`;

function dropped(): string {
  return Object.entries(DROP_REASONS)
    .map(([reason, { level, sentence, ref }]) => `### ${reason}\n\n${sentence} (\`${level}\`; ${ref}).\n`)
    .join("\n");
}

function refused(): string {
  return Object.entries(REFUSALS)
    .map(([reason, { sentence, prompt, ref }]) =>
      `### ${reason}\n\n${sentence} (${ref}). The user reads: "${PROMPTS[prompt].text}"\n`
    )
    .join("\n");
}

/** The page: a heading for each reason, so that a link can point at it. */
export function dropsPage(): string {
  return [INTRODUCTION, dropped(), REFUSED, refused()].join("\n");
}
