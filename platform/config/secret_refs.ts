// `env:NAME` and `file:PATH` in place of a text, so that no secret has to stand in the settings file.

import { resolve } from "node:path";
import type { ConfigSources } from "./config.ts";

export type Resolved =
  /** `borrowed`: the text came from elsewhere, and must not be shown. */
  | { ok: true; raw: unknown; borrowed: boolean }
  | { ok: false; problem: string };

const MAX_BORROWED_CHARACTERS = 64 * 1024;

/** Why a file cannot be read, in words. */
export function readFailure(failure: unknown): string {
  if (failure instanceof Deno.errors.NotFound) return "does not exist";
  if (failure instanceof Deno.errors.PermissionDenied || failure instanceof Deno.errors.NotCapable) {
    return "may not be read by this process";
  }
  if (failure instanceof Deno.errors.IsADirectory) return "is a directory";
  return "cannot be read";
}

function fromEnvironment(name: string, { env }: ConfigSources): Resolved {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { ok: false, problem: '"env:" must be followed by the name of an environment variable' };
  }
  let value: string | undefined;
  try {
    value = env(name);
  } catch {
    return { ok: false, problem: `the environment variable ${name} may not be read by this process` };
  }
  if (value === undefined) {
    return { ok: false, problem: `the environment variable ${name} is not set; it must hold the value` };
  }
  return { ok: true, raw: value, borrowed: true };
}

function fromFile(path: string, { readTextFile, cwd }: ConfigSources): Resolved {
  if (path === "") return { ok: false, problem: '"file:" must be followed by a path' };
  let content: string;
  try {
    content = readTextFile(resolve(cwd, path));
  } catch (failure) {
    return {
      ok: false,
      problem: `the file ${JSON.stringify(path)} ${readFailure(failure)}; it must hold the value`,
    };
  }
  return { ok: true, raw: content.replace(/\r?\n$/, ""), borrowed: true };
}

function resolveText(text: string, sources: ConfigSources): Resolved {
  const found = text.startsWith("env:")
    ? fromEnvironment(text.slice(4), sources)
    : text.startsWith("file:")
    ? fromFile(text.slice(5), sources)
    : { ok: true, raw: text, borrowed: false } as const;
  if (found.ok && typeof found.raw === "string" && found.raw.length > MAX_BORROWED_CHARACTERS) {
    return { ok: false, problem: `the value has more than ${MAX_BORROWED_CHARACTERS} characters` };
  }
  return found;
}

/** Resolves a text, or each text of a list; other values stay as they are. */
export function resolveReferences(raw: unknown, sources: ConfigSources): Resolved {
  if (typeof raw === "string") return resolveText(raw, sources);
  if (!Array.isArray(raw)) return { ok: true, raw, borrowed: false };
  const entries: unknown[] = [];
  let borrowed = false;
  for (const entry of raw) {
    const found: Resolved = typeof entry === "string"
      ? resolveText(entry, sources)
      : { ok: true, raw: entry, borrowed: false };
    if (!found.ok) return found;
    entries.push(found.raw);
    borrowed ||= found.borrowed;
  }
  return { ok: true, raw: entries, borrowed };
}
