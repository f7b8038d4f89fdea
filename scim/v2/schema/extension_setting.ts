// The schema extensions in the settings of a target: the check of their JSON, and the schemas that follow the settings (RFC 7643 §3.3).

import type { TargetSettings } from "../../../platform/config/config.ts";
import { type JsonFlaw, parseBoundedJson } from "../../../platform/safe_json.ts";
import type { JsonValue } from "../../schema/resource.ts";
import { parseExtensions, type ParseExtensionsOutcome } from "./custom_extension.ts";
import { createTargetSchemas, type TargetSchemas } from "./target_schemas.ts";

/** The most extensions with the most attributes fit. */
const MAX_CHARACTERS = 512 * 1024;
/** A list of extensions → attributes → sub-attributes → canonical values has 8 levels. */
const BOUNDS = { maxDepth: 16, maxValues: 50_000 } as const;

const FLAWS: Readonly<Record<JsonFlaw, string>> = {
  not_utf8: "The extensions must be in UTF-8.",
  not_json: "The extensions must be JSON: a list of schemas.",
  too_deep: `The JSON of extensions must have at most ${BOUNDS.maxDepth} levels.`,
  repeated_name: "The extensions must not have the same name twice in one object.",
  too_many_values: `The JSON of extensions must have at most ${BOUNDS.maxValues} values.`,
};

function readExtensionSetting(json: string): ParseExtensionsOutcome {
  if (json.length > MAX_CHARACTERS) {
    return {
      ok: false,
      problem: `The JSON of extensions must have at most ${MAX_CHARACTERS} characters.`,
    };
  }
  // An editor may write a byte order mark.
  const parsed = parseBoundedJson(json.replace(/^\uFEFF/, ""), BOUNDS);
  return parsed.ok ? parseExtensions(parsed.value as JsonValue) : { ok: false, problem: FLAWS[parsed.flaw] };
}

/**
 * The problem of the extensions of a target, or `null`.
 *
 * @returns a sentence without its capital letter and its full stop, like other problems of settings.
 */
export function extensionsProblem(json: string): string | null {
  const read = readExtensionSetting(json);
  if (read.ok) return null;
  return read.problem.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase()).replace(/\.$/, "");
}

/** The schemas of each target. They are made once for each change of its extensions. */
export function followExtensions(
  config: { readonly targets: readonly Pick<TargetSettings, "name" | "extensions">[] },
): (target: string) => TargetSchemas {
  const core = createTargetSchemas();
  const known = new Map<string, { readonly json: string; readonly schemas: TargetSchemas }>();
  return (target) => {
    const json = config.targets.find(({ name }) => name === target)?.extensions ?? "";
    if (json === "") {
      known.delete(target);
      return core;
    }
    let found = known.get(target);
    if (found?.json !== json) known.set(target, found = { json, schemas: schemasOf(target, json) });
    return found.schemas;
  };
}

function schemasOf(target: string, json: string): TargetSchemas {
  const read = readExtensionSetting(json);
  // The settings are checked with extensionsProblem() before they are used.
  if (!read.ok) throw new Error(`Cannot use the extensions of the target ${target}: ${read.problem}`);
  return createTargetSchemas(read.extensions);
}
