// Warns when the settings file contains secrets and other users of this host can read it.

import type { ConfigWarning } from "./config.ts";

const SECRET_KEY = /(^|_)(secret|password|token)$/;
const OTHERS_READ = 0o044;

/**
 * @param table the settings as TOML gave them; `env:NAME` and `file:PATH` are no secrets.
 * @param mode permission bits of the file; `null` where the host has none.
 */
export function readableSecrets(
  table: unknown,
  { path, mode }: { path: string; mode: number | null },
): ConfigWarning[] {
  if (mode === null || (mode & OTHERS_READ) === 0 || !hasSecret(table)) return [];
  return [{
    key: path,
    problem: `it contains secrets, and other users of this host can read it; run: chmod 600 ${path}`,
  }];
}

function hasSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSecret);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, one]) =>
    typeof one === "string" ? SECRET_KEY.test(key) && one !== "" && !/^(env|file):/.test(one) : hasSecret(one)
  );
}
