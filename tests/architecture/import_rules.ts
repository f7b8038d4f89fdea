// The allowed import directions, as rows; docs/architecture.md has the same diagram.

import type { ImportEdge } from "./sources.ts";

/** A part of the project: the first row whose `at` begins a path is the path's room. */
interface RoomRow {
  readonly at: string;
  /** Rooms whose code this one may run. A room may always import itself. */
  readonly code: readonly string[];
  /** Rooms of which it may see the types, besides those above. */
  readonly types: readonly string[];
  /** Parts of `code` that it may not run. */
  readonly except?: readonly string[];
}

/** Everything in `platform/`, except settings, the data directory and the control socket. */
const PLATFORM = {
  code: ["platform/"],
  except: ["platform/config/", "platform/http/", "platform/data_dir.ts", "platform/control_listener.ts"],
};
/** Tables and pure functions of RADIUS. */
const RADIUS_FACTS = ["radius/protocol/", "radius/flow/"];
/** Pure functions and record types of the gateway that the console shares. */
const PURE_RADIUS = [
  "radius/conversation/login_record.ts",
  "radius/factors/pairing.ts",
  "radius/factors/totp.ts",
  "radius/shadow/shadow_learner.ts",
  "radius/tokens/token.ts",
  "radius/tokens/token_codes.ts",
  "radius/tokens/files/",
  "radius/policy/policy.ts",
];
/** What runs in a browser: the tables of the flow and of the protocol, fields of forms, and names. */
const BROWSER = [
  "platform/fields.ts",
  "radius/protocol/",
  "radius/flow/",
  "radius/policy/policy.ts",
  "platform/device_label.ts",
  "platform/durations.ts",
  "platform/typed_text.ts",
];
/** Defaults, bounds and states of connections, as data. */
const CONNECTION_SETTINGS = "scim/v2/connections/connection_settings.ts";
const EVERYTHING = [""];

/** `""` stands for every room of the program, never for tests. */
export const ROOMS: readonly RoomRow[] = [
  {
    at: "radius/protocol/",
    code: [
      "platform/canonical_name.ts",
      "platform/durations.ts",
      "platform/phone_number.ts",
      "platform/typed_text.ts",
    ],
    types: [],
  },
  {
    at: "radius/flow/",
    code: ["radius/protocol/", "platform/phone_number.ts", "platform/account_refusals.ts"],
    types: [],
  },
  {
    at: "radius/accounting/",
    code: [...RADIUS_FACTS, "radius/server/reply_encoder.ts", ...PLATFORM.code],
    except: PLATFORM.except,
    types: ["radius/"],
  },
  { at: "radius/", ...PLATFORM, types: ["platform/config/"] },
  { at: "scim/", ...PLATFORM, types: ["platform/config/"] },
  { at: "upstream/", ...PLATFORM, types: ["radius/ports.ts", "platform/config/"] },
  {
    at: "console/web/",
    code: [
      ...BROWSER,
      "scim/schema/contact_values.ts",
      CONNECTION_SETTINGS,
      "platform/audit_actions.ts",
      "platform/client_guides.ts",
      "platform/log_export/destination_choices.ts",
      "platform/alerts/alert_kinds.ts",
      "platform/client_settings.ts",
      "platform/config/setting_rows.ts",
      "platform/config/target_settings.ts",
      "platform/addresses.ts",
      "platform/file_text.ts",
    ],
    // The ports declare what a conversation looks like; the API sends it as it is.
    types: [
      "console/api/",
      "radius/ports.ts",
      "scim/ports.ts",
      "scim/schema/resource.ts",
      "upstream/embedded/second_factor/interfaces.ts",
      "upstream/embedded/telephony/outbox.ts",
    ],
  },
  {
    at: "console/device/",
    code: ["console/web/", ...BROWSER],
    types: ["console/api/", "upstream/embedded/second_factor/interfaces.ts"],
  },
  { at: "console/account/", code: ["console/web/", ...BROWSER], types: ["console/api/"] },
  {
    at: "console/",
    code: [
      ...RADIUS_FACTS,
      ...PURE_RADIUS,
      "scim/schema/",
      "scim/filter/",
      CONNECTION_SETTINGS,
      "platform/",
    ],
    except: ["platform/config/", "platform/data_dir.ts", "platform/control_listener.ts"],
    types: EVERYTHING,
  },
  // The settings name RADIUS attributes, so their tables check them.
  { at: "platform/config/", code: ["radius/protocol/", "platform/"], types: [] },
  { at: "platform/", code: [], types: [] },
  {
    at: "cli/radtest",
    code: [
      ...RADIUS_FACTS,
      "platform/command_name.ts",
      "platform/runtime.ts",
      "platform/control_characters.ts",
      "cli/terminal.ts",
    ],
    types: [],
  },
  // Commands use the administration API: through the control socket, or of the application that compose.ts builds.
  {
    at: "cli/",
    code: [
      "compose.ts",
      "console/api/console_api.ts",
      "console/assets.ts",
      // The labels of the forms are the help of the options.
      "console/web/i18n/",
      ...RADIUS_FACTS,
      "scim/schema/",
      "scim/v2/schema/",
      "scim/http/routes.ts",
      CONNECTION_SETTINGS,
      "scim/transfer/",
      "platform/",
    ],
    types: ["console/api/", "scim/"],
  },
  { at: "docs/", code: EVERYTHING, types: [] },
  { at: "packaging/", code: EVERYTHING, types: [] },
  { at: "compose", code: EVERYTHING, types: [] },
  { at: "main", code: EVERYTHING, types: [] },
  // The reply checker of the tests shares no code with the gateway.
  { at: "tests/support/", code: ["tests/packages/"], types: [] },
  { at: "tests/", code: ["", "tests/"], types: [] },
];

/** What an edge breaks, as a sentence, or `null`. Packages are judged by {@link packageProblem}. */
export function importProblem(edge: ImportEdge): string | null {
  if (edge.target.includes(":")) return null;
  const room = ROOMS.find(({ at }) => edge.from.startsWith(at));
  if (room === undefined) return `${edge.from} is in no room: add a row for it`;
  if (edge.target.startsWith(room.at)) return null;
  const isRefused = room.except?.some((at) => edge.target.startsWith(at)) ?? false;
  const code = isRefused ? [] : room.code;
  const allowed = edge.types ? [...code, ...room.types] : code;
  if (allowed.some((at) => covers(at, edge.target))) return null;
  return `${edge.from} imports ${edge.types ? "types of" : "code of"} ${edge.target}`;
}

/**
 * The paths that rows name and that begin no source path: rows of deleted files, which allow whatever takes the name
 * later.
 */
export function missingPaths(rooms: readonly RoomRow[], paths: readonly string[]): string[] {
  const named = new Set(
    rooms.flatMap(({ at, code, types, except = [] }) => [at, ...code, ...types, ...except]),
  );
  return [...named].filter((at) => !paths.some((path) => path.startsWith(at)));
}

function covers(at: string, target: string): boolean {
  return at === "" ? !target.startsWith("tests/") : target.startsWith(at);
}

/** A package is named through deno.json, where it is pinned; nothing is loaded from an address. */
export function packageProblem(edge: ImportEdge, pinned: ReadonlySet<string>): string | null {
  if (!edge.target.includes(":") || edge.target.startsWith("node:")) return null;
  // deno writes "npm:/hono@4.13.19/cookie" for what deno.json calls "npm:hono@4.13.19".
  const name = edge.target.replace(/^npm:\//, "npm:");
  if ([...pinned].some((one) => name === one || name.startsWith(`${one}/`))) return null;
  return `${edge.from} imports ${edge.target}, which deno.json does not pin`;
}

/** The entries of `imports` in deno.json that name no exact version. */
export function unpinned(imports: Readonly<Record<string, string>>): string[] {
  return Object.entries(imports)
    .filter(([, specifier]) => !isPinned(specifier))
    .map(([name, specifier]) => `${name}: ${specifier}`);
}

/** Whether a specifier names one version of a package. */
export function isPinned(specifier: string): boolean {
  return /^npm:(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+(\/[\w./-]+)?$/.test(specifier);
}

/** The packages that a file of tests/packages names. */
export function packagesIn(text: string): string[] {
  return [...text.matchAll(/from "((?:npm|jsr|https?):[^"]+)"/g)].map(([, specifier]) => specifier ?? "");
}
