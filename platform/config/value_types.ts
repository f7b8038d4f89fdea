// The value types of settings: each parses a TOML value and describes the allowed values. Also the type of the rows that use them.

import {
  canonicalIp,
  canonicalRange,
  canonicalUrl,
  parseSocketAddress,
  type SocketAddress,
} from "../addresses.ts";
import { type Meaning, meaning, type MeaningCode } from "../setting_problems.ts";
import { isAppendSeparator, isDomainOrRealm, isListedUserName } from "../../radius/protocol/login_input.ts";

/** A parsed value. */
export type ParsedValue<T> = { ok: true; value: T } | { ok: false };

/** How a form shows and reads a value. */
export interface SettingControl {
  /** `block`: a text of several lines. */
  readonly kind:
    | "text"
    | "block"
    | "secret"
    | "switch"
    | "number"
    | "choice"
    | "choices"
    | "list"
    | "attributes";
  /** Bounds of a number, or of the characters of a text. */
  readonly min?: number;
  readonly max?: number;
  /** The unit of a number, as in the settings file. */
  readonly unit?: "ms" | "s" | "min" | "h" | "days";
  readonly choices?: readonly string[];
  /** The text is the name of one of these. */
  readonly names?: "directories" | "ldap_connectors";
}

/** One type of value. */
export interface ValueType<T> {
  /** What is allowed. */
  readonly means: Meaning;
  /** The value must never be shown. */
  readonly secret: boolean;
  readonly control: SettingControl;
  parse(raw: unknown): ParsedValue<T>;
}

export function valueType<T>(
  means: Meaning,
  parse: (raw: unknown) => T | null,
  more?: Partial<ValueType<T>>,
): ValueType<T> {
  return {
    means,
    secret: false,
    control: { kind: "text" },
    parse(raw) {
      const value = parse(raw);
      return value === null ? { ok: false } : { ok: true, value };
    },
    ...more,
  };
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

export const isLine = (raw: unknown, min: number, max: number): raw is string =>
  typeof raw === "string" && raw.length >= min && raw.length <= max && !CONTROL.test(raw);

/** One line of text; `min` and `max` in characters. */
export function settingLine({ min = 0, max = 256 } = {}): ValueType<string> {
  const means = min > 0 ? meaning("means_text_from", { min, max }) : meaning("means_text", { max });
  return valueType(means, (raw) => isLine(raw, min, max) ? raw : null, {
    control: { kind: "text", min, max },
  });
}

/** A secret, unchanged. Empty: not set. */
export function settingSecret({ min = 0 } = {}): ValueType<string> {
  const max = 1024;
  const means = min > 0 ? meaning("means_secret_from", { min, max }) : meaning("means_secret", { max });
  return valueType(
    means,
    (raw) => typeof raw === "string" && raw.length <= max && (raw === "" || raw.length >= min) ? raw : null,
    { secret: true, control: { kind: "secret", min, max } },
  );
}

/** A user name for HTTP Basic (RFC 7617 §2: no colon). */
export const userId: ValueType<string> = valueType(
  meaning("means_user_id"),
  (raw) => isLine(raw, 1, 128) && !raw.includes(":") ? raw : null,
);

export const boolean: ValueType<boolean> = valueType(
  meaning("means_boolean"),
  (raw) => typeof raw === "boolean" ? raw : null,
  { control: { kind: "switch" } },
);

interface Bounds {
  readonly min: number;
  readonly max: number;
}

interface NumberUnit {
  readonly means: MeaningCode;
  /** Converts to the unit of Config. */
  readonly factor: number;
  readonly unit?: SettingControl["unit"];
}

function numberIn({ means, factor, unit }: NumberUnit): (bounds: Bounds) => ValueType<number> {
  return ({ min, max }) => {
    const isAllowed = (raw: unknown): raw is number =>
      typeof raw === "number" && Number.isInteger(raw) && raw >= min && raw <= max;
    const control = { kind: "number", min, max, ...(unit === undefined ? {} : { unit }) } as const;
    return valueType(meaning(means, { min, max }), (raw) => isAllowed(raw) ? raw * factor : null, {
      control,
    });
  };
}

export const integer = numberIn({ means: "means_integer", factor: 1 });
export const days = numberIn({ means: "means_integer", factor: 1, unit: "days" });
/** These four convert to milliseconds. */
export const milliseconds = numberIn({ means: "means_milliseconds", factor: 1, unit: "ms" });
export const seconds = numberIn({ means: "means_seconds", factor: 1000, unit: "s" });
export const minutes = numberIn({ means: "means_minutes", factor: 60_000, unit: "min" });
export const hours = numberIn({ means: "means_hours", factor: 3_600_000, unit: "h" });

/** One of some words. */
export function settingChoice<const T extends string>(of: readonly T[]): ValueType<T> {
  return valueType(
    meaning("means_choice", { choices: of }),
    (raw) => of.find((word) => word === raw) ?? null,
    {
      control: { kind: "choice", choices: of },
    },
  );
}

/** Several of some words, each at most once; the result has the order of `of`. */
export function settingChoices<const T extends string>(of: readonly T[]): ValueType<readonly T[]> {
  return valueType(meaning("means_choices", { choices: of }), (raw) => {
    if (!Array.isArray(raw) || new Set(raw).size !== raw.length) return null;
    return raw.every((one) => of.some((word) => word === one))
      ? of.filter((word) => raw.includes(word))
      : null;
  }, { control: { kind: "choices", choices: of } });
}

export function textType<T = string>(means: Meaning, parse: (text: string) => T | null): ValueType<T> {
  return valueType(means, (raw) => typeof raw === "string" ? parse(raw) : null);
}

/** A list of which `parse` accepts every entry. */
export function settingList<T>(
  means: Meaning,
  parse: (entry: string) => T | null,
  maxEntries = 1000,
): ValueType<readonly T[]> {
  return valueType(means, (raw) => {
    if (!Array.isArray(raw) || raw.length > maxEntries) return null;
    const values: T[] = [];
    for (const entry of raw) {
      const value = typeof entry === "string" ? parse(entry) : null;
      if (value === null) return null;
      values.push(value);
    }
    return values;
  }, { control: { kind: "list", max: maxEntries } });
}

/** A list of up to 100 different texts that `fits` accepts. */
export function uniqueList(
  means: Meaning,
  fits: (entry: string) => boolean,
  { min = 0 } = {},
): ValueType<readonly string[]> {
  const entries = settingList(means, (entry) => fits(entry) ? entry : null, 100);
  return valueType(means, (raw) => {
    const parsed = entries.parse(raw);
    if (!parsed.ok || parsed.value.length < min) return null;
    return new Set(parsed.value).size === parsed.value.length ? parsed.value : null;
  }, { control: entries.control });
}

/** Texts that another system defines, such as names of groups. */
export const texts: ValueType<readonly string[]> = settingList(
  meaning("means_texts"),
  (entry) => isLine(entry, 1, 256) ? entry : null,
  100,
);

const nameList = (means: Meaning, fits: (entry: string) => boolean) =>
  settingList(means, (entry) => fits(entry) ? entry : null, 100);
export const domains = nameList(meaning("means_domains"), isDomainOrRealm);
export const realms = nameList(meaning("means_realms"), isDomainOrRealm);
export const users = nameList(meaning("means_users"), isListedUserName);

export const separator = textType(
  meaning("means_separator"),
  (text) => isAppendSeparator(text) ? text : null,
);

export const countryCodes: ValueType<readonly string[]> = settingList(
  meaning("means_country_codes"),
  (entry) => /^[0-9]{1,3}$/.test(entry) ? entry : null,
);

/** To listen on; port 0 lets the host choose. */
export const listen = textType(meaning("means_listen"), parseSocketAddress);

export const listens: ValueType<readonly SocketAddress[]> = valueType(
  meaning("means_listens"),
  (raw) => {
    const parsed = settingList(meaning("means_listens"), parseSocketAddress, 64).parse(
      typeof raw === "string" ? [raw] : raw,
    );
    return parsed.ok && parsed.value.length > 0 ? parsed.value : null;
  },
  { control: { kind: "list", max: 64 } },
);

/** A server: an IP address, because it is compared with the sender of a reply. Empty: not set. */
export const peer = textType<SocketAddress | "">(
  meaning("means_peer"),
  (text) => {
    if (text === "") return text;
    const parsed = parseSocketAddress(text);
    return parsed === null || parsed.port === 0 || canonicalIp(parsed.hostname) === null ? null : parsed;
  },
);

/** Addresses of clients: host bits are cleared, a range of one address becomes that address. */
export const ranges: ValueType<readonly string[]> = settingList(
  meaning("means_ranges"),
  canonicalRange,
);

/** Empty: not set. */
export const ip = textType(meaning("means_ip"), (text) => text === "" ? text : canonicalIp(text));

/** Empty: not set. A slash at the end is removed. */
export const url = textType(
  meaning("means_url"),
  (text) => text === "" ? text : canonicalUrl(text),
);

/** Scheme, host and port. */
export const origin = textType(
  meaning("means_origin"),
  (text) => {
    const canonical = canonicalUrl(text);
    return canonical === null || URL.parse(canonical)?.origin !== canonical ? null : canonical;
  },
);

/** A setting: its type, its default (`preset`), and its text in the docs. */
export interface SettingRow<T> {
  readonly kind: ValueType<T>;
  /** In TOML; `kind` parses it like any other value. */
  readonly preset: string | number | boolean | readonly string[];
  readonly doc: string;
  /** The key must be set, and not empty. */
  readonly required?: true;
  /** `false`: only the settings file can change it, with a restart. */
  readonly editable?: false;
  /** `false`: the setting protects nothing, so that a change in the console needs no recent factor. */
  readonly security?: false;
  /** docs/configuration.md shows it instead of the default. */
  readonly example?: string | number | readonly string[];
}

export type SettingRows = Readonly<Record<string, SettingRow<unknown>>>;

export type SettingValues<R extends SettingRows> = {
  readonly [K in keyof R]: R[K] extends SettingRow<infer T> ? T : never;
};

export function settingRow<T>(
  kind: ValueType<T>,
  preset: SettingRow<T>["preset"],
  about: Omit<SettingRow<T>, "kind" | "preset">,
): SettingRow<T> {
  return { kind, preset, ...about };
}
