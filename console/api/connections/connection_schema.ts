// The bodies and queries of the connections API.

import * as v from "valibot";
import {
  ADOPTION_STATES,
  CONNECTION_FIELDS,
  CONNECTION_KINDS,
  type ConnectionChange,
  REQUEST_OUTCOMES,
} from "../../../scim/v2/connections/connection_settings.ts";
import { fieldEntries } from "../field_bodies.ts";
import { optionalChoice, textUpTo, time, wholeNumber } from "../hono_env.ts";

const integer = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const MAX_LIFE_DAYS = 1096;
const MAX_OVERLAP_HOURS = 720;
const MAX_DECIDED = 1000;

const CHANGES = {
  ...fieldEntries(CONNECTION_FIELDS, { isBounded: true }),
  meUser: v.optional(v.nullable(v.pipe(v.string(), v.minLength(1), v.maxLength(256)))),
} satisfies Record<keyof ConnectionChange, v.GenericSchema>;

export const NEW_CONNECTION_SECRET = v.strictObject({
  kind: v.optional(v.picklist(["token", "client_secret"])),
  days: v.optional(v.nullable(integer(1, MAX_LIFE_DAYS))),
  replaces: v.optional(textUpTo(64)),
  overlapHours: v.optional(integer(0, MAX_OVERLAP_HOURS)),
});

export const NEW_CONNECTION = v.strictObject({
  name: textUpTo(1024),
  kind: v.picklist(CONNECTION_KINDS),
  target: textUpTo(64),
  secret: v.optional(v.nullable(v.omit(NEW_CONNECTION_SECRET, ["replaces", "overlapHours"]))),
  ...CHANGES,
});

export const CHANGED_CONNECTION = v.strictObject({
  version: v.pipe(v.number(), v.integer()),
  change: v.strictObject(CHANGES),
});

export const REQUEST_QUERY = v.object({
  outcome: optionalChoice(REQUEST_OUTCOMES),
  text: v.optional(textUpTo(256), ""),
  operation: v.optional(textUpTo(64), ""),
  from: time,
  to: time,
  cursor: v.optional(textUpTo(32), ""),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});

export const MATCH_QUERY = v.object({
  state: optionalChoice(ADOPTION_STATES),
  cursor: v.optional(textUpTo(200), ""),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});

export const MATCH_DECISION = v.strictObject({
  decision: v.picklist(["accept", "refuse"]),
  ids: v.union([v.literal("all"), v.pipe(v.array(textUpTo(200)), v.minLength(1), v.maxLength(MAX_DECIDED))]),
});
