// Users who are also administrators of the console. The help desk and operators must not change how such a user signs in: with the user's
// factors they could become that administrator.

import type { Context } from "hono";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { isAllowed } from "../auth/admin_records.ts";
import { Refusal } from "../errors.ts";
import type { HttpEnv } from "../hono_env.ts";
import { displayNameOf } from "../users/user_views.ts";

/** The names of the administrators who can sign in. */
export interface AdministratorNames {
  activeNames(): Promise<readonly string[]>;
}

/** A user's name, and the entry in the directory. */
export interface HelpedUser {
  readonly user: string;
  readonly content: Content | null;
}

/**
 * Allows the request if the caller manages users, or if the user is no administrator.
 *
 * @throws Refusal `administrator_user`
 */
export async function requireNoAdministrator(
  c: Context<HttpEnv>,
  admins: AdministratorNames,
  user: HelpedUser,
): Promise<void> {
  if (isAllowed(c.var.session.admin.role, "user_manager")) return;
  if (isAdministrator(user, await admins.activeNames())) throw new Refusal("administrator_user");
}

/**
 * Whether a user has the name of an administrator: as the user name, as an email address, with or without a domain, or as the display name. A
 * sign-in provider names administrators by one of them. Two persons may then look like one, which refuses more. Pure.
 */
export function isAdministrator({ user, content }: HelpedUser, administrators: readonly string[]): boolean {
  const shown = content === null ? "" : displayNameOf(content);
  const names = [user, ...emailsOf(content), ...(shown === "" ? [] : [shown])];
  const own = new Set(names.flatMap(formsOf));
  return administrators.some((name) => formsOf(name).some((form) => own.has(form)));
}

const MAX_EMAILS = 50;

function emailsOf(content: Content | null): string[] {
  const emails = content?.attributes.emails;
  if (!Array.isArray(emails)) return [];
  return emails.slice(0, MAX_EMAILS).flatMap((entry) => {
    const value = typeof entry === "string" ? entry : typeof entry === "object" && entry !== null &&
        "value" in entry
      ? entry.value
      : null;
    return typeof value === "string" ? [value] : [];
  });
}

/** The name, and the name without its domain: `CORP\ada` and `ada@corp.example` are `ada`. */
function formsOf(name: string): string[] {
  const whole = canonicalName(name.trim());
  const afterDomain = whole.slice(whole.indexOf("\\") + 1);
  const at = afterDomain.lastIndexOf("@");
  return [whole, at > 0 ? afterDomain.slice(0, at) : afterDomain];
}
