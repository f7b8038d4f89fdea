// What this program is made of, and under which licence each part comes; held against the packages by a test.

import type { LicenceRow } from "./setting_types.ts";

export const LICENCES: readonly LicenceRow[] = [
  { name: "Countersign", licence: "MIT" },
  { name: "@preact/signals", licence: "MIT" },
  { name: "@simplewebauthn/browser", licence: "MIT" },
  { name: "@simplewebauthn/server", licence: "MIT" },
  { name: "hono", licence: "MIT" },
  { name: "jose", licence: "MIT" },
  { name: "ldapts", licence: "MIT" },
  { name: "lucide-static", licence: "ISC" },
  { name: "oauth4webapi", licence: "MIT" },
  { name: "preact", licence: "MIT" },
  { name: "smol-toml", licence: "BSD-3-Clause" },
  { name: "uplot", licence: "MIT" },
  { name: "uqr", licence: "MIT" },
  { name: "valibot", licence: "MIT" },
];
