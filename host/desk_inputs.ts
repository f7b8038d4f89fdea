// The inputs of the desk's operations, as rows: what each may be, and what is said when it is not.

import { type Factor, FACTORS } from "../radius/facts/factors.ts";
import { hasControlCharacters } from "../platform/control_characters.ts";
import { reducePhoneNumber } from "../radius/pure/phone_number.ts";
import { decodeBase32 } from "../radius/pure/totp.ts";

/** One input. `read` gives `null` when the value is not sound. */
export interface Input<T> {
  read(value: unknown): { readonly value: T } | null;
  /** What it must be; never quotes the value, which may be a secret. */
  readonly problem: string;
}

export type Inputs = Readonly<Record<string, Input<unknown>>>;
export type ValuesOf<I extends Inputs> = { readonly [K in keyof I]: I[K] extends Input<infer T> ? T : never };

const MAX_USER_CHARACTERS = 256;
const MAX_ID_CHARACTERS = 128;
const MAX_CLIENT_CHARACTERS = 64;
const MAX_TARGETS_CHARACTERS = 4096;
/** Names of backends, or of attributes with their extension's URN. */
const MAX_NAMES = 1000;
const MAX_NAME_CHARACTERS = 512;
const CREDENTIAL_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const MIN_SECRET_CHARACTERS = 12;
const MAX_SECRET_CHARACTERS = 1024;
const DEFAULT_TOTP_LENGTH = 6;
const TOTP_LENGTHS = [0, 4, 5, 6, 7, 8, 9, 10];

function text(maxCharacters: number, problem: string, forbidden?: RegExp): Input<string> {
  return {
    problem,
    read: (value) =>
      typeof value === "string" && value.trim() !== "" && value.length <= maxCharacters &&
        !hasControlCharacters(value) && forbidden?.test(value) !== true
        ? { value }
        : null,
  };
}

/** An input that may be left out. */
function optional<T>(input: Input<T>): Input<T | null> {
  return {
    ...input,
    read: (value) => value === undefined || value === null ? { value: null } : input.read(value),
  };
}

function found<T>(value: T | null): { value: T } | null {
  return value === null ? null : { value };
}

const user = text(
  MAX_USER_CHARACTERS,
  `a user name has 1 to ${MAX_USER_CHARACTERS} characters, no control character and no "/"`,
  /\//,
);

export const INPUTS = {
  user,
  anyUser: optional(user),
  deviceId: text(
    MAX_ID_CHARACTERS,
    `a device's pairing id has 1 to ${MAX_ID_CHARACTERS} printable characters and no blank`,
    /\s/,
  ),
  pairingId: text(
    MAX_ID_CHARACTERS,
    `a pairing's id has 1 to ${MAX_ID_CHARACTERS} printable characters; --list shows them`,
  ),
  clientName: text(
    MAX_CLIENT_CHARACTERS,
    `a client's name has 1 to ${MAX_CLIENT_CHARACTERS} printable characters`,
  ),
  credentialName: {
    problem: "a credential's name has 1 to 64 characters: letters A to Z, digits, dot, dash and underscore",
    read: (value) => typeof value === "string" && CREDENTIAL_NAME.test(value) ? { value } : null,
  },
  credentialAccess: {
    problem: "the access of a credential is read or write",
    read: (value) => {
      if (value === undefined || value === null) return { value: "read" };
      return value === "read" || value === "write" ? { value } : null;
    },
  },
  credentialPassword: {
    problem:
      `a credential's password has ${MIN_SECRET_CHARACTERS} to ${MAX_SECRET_CHARACTERS} characters and no ` +
      "control character",
    read: (value) => {
      if (value === undefined || value === null) return { value: null };
      const isSound = typeof value === "string" && value.length >= MIN_SECRET_CHARACTERS &&
        value.length <= MAX_SECRET_CHARACTERS && value.isWellFormed() && !/\p{Cc}/u.test(value);
      return isSound ? { value } : null;
    },
  },
  /** Names joined by commas; `null` when none is given. */
  targets: optional(
    text(MAX_TARGETS_CHARACTERS, "targets are names, separated by commas"),
  ),
  targetName: text(
    MAX_CLIENT_CHARACTERS,
    `a target's name has 1 to ${MAX_CLIENT_CHARACTERS} printable characters`,
  ),
  backendName: optional(
    text(MAX_CLIENT_CHARACTERS, `a backend's name has 1 to ${MAX_CLIENT_CHARACTERS} printable characters`),
  ),
  resourceKind: {
    problem: "a kind is user or group",
    read: (value) => value === "user" || value === "group" ? { value } : null,
  },
  /** `false` when it is left out. */
  flag: {
    problem: "a flag is true or false",
    read: (value) => {
      if (value === undefined) return { value: false };
      return typeof value === "boolean" ? { value } : null;
    },
  },
  list: { problem: "rows are a list", read: (value) => Array.isArray(value) ? { value } : null },
  /** `null` when they are left out. */
  names: {
    problem: `names are a list of texts, ${MAX_NAMES} at most`,
    read: (value) => {
      if (value === undefined || value === null) return { value: null };
      const isSound = Array.isArray(value) && value.length <= MAX_NAMES &&
        value.every((one) => typeof one === "string" && one.length <= MAX_NAME_CHARACTERS);
      return isSound ? { value } : null;
    },
  },
  workId: text(MAX_ID_CHARACTERS, "an id is what an answer gave"),
  totpLength: {
    problem: "the length of a device's passcodes is 4 to 10, or 0 for none",
    read: (value) => {
      if (value === undefined) return { value: DEFAULT_TOTP_LENGTH };
      return typeof value === "number" && TOTP_LENGTHS.includes(value) ? { value } : null;
    },
  },
  number: {
    problem: "a phone number is +, country code and digits, 8 to 15 digits in all, such as +14155550123",
    read: (value) => typeof value === "string" ? found(reducePhoneNumber(value)) : null,
  },
  seed: {
    problem: "a TOTP secret is base32 (A to Z, 2 to 7) of at least 16 characters",
    read: (value) => typeof value === "string" ? found(decodeBase32(value)) : null,
  },
  preference: {
    problem: `what comes first is one of ${Object.keys(FACTORS).join(", ")}, or none`,
    read: (value) => {
      if (value === "none") return { value: null };
      return isFactor(value) ? { value } : null;
    },
  },
} as const satisfies {
  user: Input<string>;
  anyUser: Input<string | null>;
  deviceId: Input<string>;
  pairingId: Input<string>;
  clientName: Input<string>;
  credentialName: Input<string>;
  credentialAccess: Input<"read" | "write">;
  credentialPassword: Input<string | null>;
  targets: Input<string | null>;
  targetName: Input<string>;
  backendName: Input<string | null>;
  resourceKind: Input<"user" | "group">;
  flag: Input<boolean>;
  list: Input<readonly unknown[]>;
  names: Input<readonly string[] | null>;
  workId: Input<string>;
  totpLength: Input<number>;
  number: Input<string>;
  seed: Input<Uint8Array>;
  preference: Input<Factor | null>;
};

function isFactor(value: unknown): value is Factor {
  return typeof value === "string" && Object.hasOwn(FACTORS, value);
}
