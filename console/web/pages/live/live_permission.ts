// What an administrator may do on the pages that follow the stream. Without the models, so that parts that load later stay small.

import type { Role } from "../../../api/auth/admin_records.ts";
import { permissionHint } from "../../app/session_model.ts";
import { t } from "../../i18n/translate.ts";
import type { LiveModels } from "./live_context.tsx";

/** Why the user cannot run an action now: a missing role or connection. `undefined` if they can. */
export function livePermissionHint(models: LiveModels, needs: Role): string | undefined {
  const isAway = models.live.connection.value.kind === "reconnecting";
  return permissionHint(models, needs) ?? (isAway ? t("live.not_while_away") : undefined);
}
