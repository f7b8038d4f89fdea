// Why an action is not permitted, from the role that it needs.

import type { Role } from "../api/auth/permissions.ts";
import type { Models } from "./models/models.ts";
import { t } from "./i18n/translate.ts";

/** `undefined` when who is here may do it; else the reason, for the `title` of what is disabled. */
export function whyNot({ session }: Pick<Models, "session">, needs: Role): string | undefined {
  return session.may(needs) ? undefined : t(`frame.needs_${needs}`);
}
