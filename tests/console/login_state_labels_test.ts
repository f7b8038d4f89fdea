// The labels of the live page: every step, outcome, reason and row of the gateway has one in each language.

import { assert, assertEquals } from "@std/assert";
import { REASON_CODES, ROW_REASONS } from "../../console/api/conversations/explain_login.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { DENIAL_CAUSES } from "../../radius/conversation/login_record.ts";
import {
  findMomentNode,
  findNode,
  momentLabel,
  OUTCOME_NAMES,
  stateLabel,
  STEP_NAMES,
} from "../../console/web/app/login_state_labels.ts";
import { momentTexts } from "../../console/web/pages/live/login_inspector.tsx";
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import type { UsedFactor } from "../../radius/flow/context.ts";
import { EFFECTS, FLOW, type FlowRow } from "../../radius/flow/flow.ts";
import { isStep, PASSAGES, STEPS } from "../../radius/protocol/steps.ts";

const CATALOGUES = { en, de };

/** Whether a row becomes an event of a login: it ends a turn, or is claimed inside one. */
function isNoted({ to, then }: FlowRow): boolean {
  return isStep(to) || to === "accept" || to === "reject" ||
    then.some((effect) => "claimed" in EFFECTS[effect]);
}

Deno.test("the live page has labels for every step and every outcome", () => {
  assertEquals(STEP_NAMES.toSorted(), Object.keys(STEPS).toSorted());
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    for (const step of Object.keys(STEPS)) {
      for (const key of [`login.step_${step}`, `login.node_${step}`]) {
        assert(key in messages, `${language}: ${key}`);
      }
    }
    for (const outcome of OUTCOME_NAMES) assert(`login.${outcome}` in messages, `${language}: ${outcome}`);
  }
});

Deno.test("each reason has an explanation and a fix", () => {
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    for (const code of REASON_CODES) {
      for (const key of [`explain.why_${code}`, `explain.fix_${code}`]) {
        assert(key in messages, `${language}: ${key}`);
      }
    }
  }
});

Deno.test("the audit log and the timeline have a label for every cause of a denied push", () => {
  for (const messages of Object.values(CATALOGUES)) {
    for (const cause of Object.keys(DENIAL_CAUSES)) {
      for (const area of ["audit", "users"]) assert(`${area}.because_${cause}` in messages, cause);
    }
  }
});

Deno.test("every row that a login can pass without a rejection has an explanation", () => {
  const rows = FLOW.filter((row) => isNoted(row) && !(row.name in ROW_REASONS)).map(({ name }) => name);
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    for (const row of rows) assert(`explain.row_${row}` in messages, `${language}: row_${row}`);
  }
});

Deno.test("an explanation uses only the values that explanations carry", () => {
  const known = new Set([
    "user",
    "client",
    "source",
    "seconds",
    "minutes",
    "count",
    "since",
    "by",
    "policy",
    "requires",
    "given",
  ]);
  const ofSimilarUser = new Set(["name", "affix", "client"]);
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    for (const [key, text] of Object.entries(messages)) {
      if (!key.startsWith("explain.")) continue;
      for (const [, name = ""] of JSON.stringify(text).matchAll(/\{(\w+)\}/g)) {
        const isKnown = (key.startsWith("explain.similar_") ? ofSimilarUser : known).has(name);
        assert(isKnown, `${language} ${key}: ${name}`);
      }
    }
  }
});

Deno.test("findNode() and stepLabel() find a node and a label for every step of the gateway", () => {
  for (const place of Object.keys(PASSAGES)) {
    assert(findNode(place) === "start" || isStep(findNode(place)), place);
  }
  assertEquals(findNode("pushing"), "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  assertEquals([findNode("SOME_NEW_STEP"), findMomentNode("accept"), findMomentNode("expired")], [
    "start",
    "accepted",
    "expired",
  ]);
});

Deno.test("stateLabel() prefers the outcome to the step, and momentLabel() reads both", () => {
  const step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
  assertEquals(stateLabel({ step, outcome: null }).tone, "wait");
  assertEquals(stateLabel({ step, outcome: "rejected" }).tone, "bad");
  assertEquals(momentLabel("accept").tone, "ok");
  assertEquals(momentLabel(step).shape, "phone");
});

/** A type check fails if a way to sign in is missing here. */
const USED_FACTORS = { device: 0, sms: 0, voice: 0, totp: 0, recovery: 0, bypass: 0 } satisfies Record<
  UsedFactor,
  number
>;

Deno.test("the sign-ins of a user name each factor, also codes of the help desk", () => {
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    for (const factor of Object.keys(USED_FACTORS)) {
      assert(`common.factor_${factor}` in messages, `${language}: ${factor}`);
    }
  }
});

const WAITING = "Waiting for the phone";
/** The entries of a timeline, and their lines: the label, and what happened if the label does not say it. */
const TIMELINES: readonly (readonly [name: string, moments: readonly string[], lines: readonly string[]])[] =
  [
    ["an approval", [
      "pushing device_picked",
      "SECONDFACTOR_AWAIT_DEVICE_APPROVAL pushed",
      "SECONDFACTOR_AWAIT_DEVICE_APPROVAL still_pending",
      "decided decided_approved",
      "accepted approved",
    ], [
      `${WAITING} / Push selected (paired phone)`,
      "Push sent",
      WAITING,
      "Approved on the phone · Pixel",
      "Accepted / Approved on the phone",
    ]],
    ["a denial by an administrator", [
      "SECONDFACTOR_AWAIT_DEVICE_APPROVAL pushed",
      "decided decided_administrator",
      "rejected denied_while_waiting",
    ], [`${WAITING} / Push sent`, "Denied by an administrator", "Rejected / Ended by the decision"]],
  ];
for (const [name, moments, lines] of TIMELINES) {
  Deno.test(`momentTexts() names a repeated step once, and the decision with its phone: ${name}`, () => {
    activateCatalogue("en", en);
    const rows = moments.map((moment) => {
      const [step = "", row = ""] = moment.split(" ");
      return { step, row };
    });
    const shown = momentTexts(rows, { phone: "Pixel" }).map(({ label, why }) =>
      why === null ? label : `${label} / ${why}`
    );
    activateCatalogue("en", {});
    assertEquals(shown, lines);
  });
}

Deno.test("the timeline has a label for every decision", () => {
  for (const [language, messages] of Object.entries(CATALOGUES)) {
    const causes = Object.keys(DENIAL_CAUSES).filter((cause) => cause !== "service");
    for (const cause of ["approved", ...causes]) {
      assert(`explain.row_decided_${cause}` in messages, `${language}: ${cause}`);
    }
  }
});
