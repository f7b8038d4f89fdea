// Who may import whom, as rows; docs/architecture.md draws the same picture.

import type { ImportEdge } from "./sources.ts";

/** A part of the project: the first row whose `at` begins a path is the path's room. */
interface RoomRow {
  readonly at: string;
  /** Rooms whose code this one may run. A room may always import itself. */
  readonly code: readonly string[];
  /** Rooms of which it may see the types, besides those above. */
  readonly types: readonly string[];
}

const GROUND = [
  "runtime.ts",
  "store.ts",
  "vault.ts",
  "log.ts",
  "canonical_name.ts",
  "phone_name.ts",
  "contact_values.ts",
  "platform/",
  "user_record.ts",
  "password_hasher.ts",
  "source_key.ts",
  "failure_limit.ts",
];
const EVERYTHING = [""];

/** `""` stands for every room of the program, never for tests. */
export const ROOMS: readonly RoomRow[] = [
  { at: "radius/facts/", code: [], types: [] },
  {
    at: "radius/pure/",
    code: ["radius/facts/", "canonical_name.ts", "platform/mask_phone_number.ts"],
    types: [],
  },
  {
    at: "radius/accounting/",
    code: ["radius/facts/", "radius/pure/", "radius/doing/replies.ts", ...GROUND],
    types: ["radius/doing/"],
  },
  { at: "radius/", code: GROUND, types: ["config"] },
  { at: "scim/", code: GROUND, types: ["config"] },
  { at: "upstream/", code: GROUND, types: ["radius/doing/ports.ts", "config"] },
  {
    at: "console/web/",
    code: [
      "radius/facts/",
      "phone_name.ts",
      "contact_values.ts",
      "platform/audit_actions.ts",
      "platform/client_settings.ts",
      "platform/client_values.ts",
      "platform/socket_address.ts",
    ],
    // The ports declare what a conversation looks like; the API sends it as it is.
    types: [
      "console/api/",
      "radius/doing/ports.ts",
      "scim/ports.ts",
      "scim/resource.ts",
      "upstream/embedded/second_factor/interfaces.ts",
      "upstream/embedded/telephony/outbox.ts",
    ],
  },
  {
    at: "console/device/",
    code: ["console/web/", "radius/facts/", "phone_name.ts"],
    types: ["console/api/", "upstream/embedded/second_factor/interfaces.ts"],
  },
  { at: "console/me/", code: ["console/web/", "radius/facts/", "phone_name.ts"], types: ["console/api/"] },
  { at: "console/", code: ["radius/facts/", "radius/pure/", "scim/pure/", ...GROUND], types: EVERYTHING },
  { at: "config", code: ["radius/facts/", "radius/pure/", ...GROUND], types: [] },
  // What touches the operating system for main: sockets, the data directory, the control socket.
  { at: "host/", code: ["radius/facts/", "radius/pure/", "config", ...GROUND], types: EVERYTHING },
  {
    at: "commands/try",
    code: [
      "radius/facts/",
      "radius/pure/",
      "runtime.ts",
      "platform/control_characters.ts",
      "commands/parse_args.ts",
    ],
    types: [],
  },
  // Commands use the administration API: through the control socket, or of the application that compose.ts builds.
  {
    at: "commands/",
    code: [
      "compose.ts",
      "config",
      "console/api/console_api.ts",
      "console/assets.ts",
      "host/data_dir.ts",
      "radius/facts/",
      "radius/pure/",
      "scim/facts/",
      "scim/pure/",
      ...GROUND,
    ],
    types: ["console/api/", "scim/"],
  },
  { at: "docs/", code: EVERYTHING, types: [] },
  { at: "compose.ts", code: EVERYTHING, types: [] },
  { at: "main", code: EVERYTHING, types: [] },
  { at: "runtime.ts", code: [], types: [] },
  { at: "store.ts", code: ["runtime.ts", "platform/"], types: [] },
  { at: "vault.ts", code: ["runtime.ts"], types: [] },
  { at: "log.ts", code: ["runtime.ts", "platform/"], types: [] },
  { at: "canonical_name.ts", code: [], types: [] },
  { at: "phone_name.ts", code: [], types: [] },
  { at: "contact_values.ts", code: [], types: ["scim/resource.ts"] },
  { at: "platform/audit_actions.ts", code: [], types: [] },
  { at: "platform/", code: ["canonical_name.ts"], types: ["runtime.ts", "store.ts"] },
  { at: "user_record.ts", code: ["canonical_name.ts"], types: ["store.ts"] },
  { at: "source_key.ts", code: [], types: [] },
  { at: "failure_limit.ts", code: ["canonical_name.ts", "source_key.ts", "runtime.ts"], types: [] },
  { at: "password_hasher.ts", code: ["runtime.ts", "vault.ts"], types: [] },
  // The judge of the gateway's packets shares no code with it.
  { at: "tests/ground/", code: ["tests/packages/"], types: [] },
  { at: "tests/", code: ["", "tests/"], types: [] },
];

/** What an edge breaks, as a sentence, or `null`. Packages are judged by {@link packageProblem}. */
export function importProblem(edge: ImportEdge): string | null {
  if (edge.target.includes(":")) return null;
  const room = ROOMS.find(({ at }) => edge.from.startsWith(at));
  if (room === undefined) return `${edge.from} is in no room: add a row for it`;
  if (edge.target.startsWith(room.at)) return null;
  const allowed = edge.types ? [...room.code, ...room.types] : room.code;
  if (allowed.some((at) => covers(at, edge.target))) return null;
  return `${edge.from} imports ${edge.types ? "types of" : "code of"} ${edge.target}`;
}

/** The paths that rows name and that begin no source path: rows of deleted files, which allow whatever takes the name later. */
export function missingPaths(rooms: readonly RoomRow[], paths: readonly string[]): string[] {
  const named = new Set(rooms.flatMap(({ at, code, types }) => [at, ...code, ...types]));
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
