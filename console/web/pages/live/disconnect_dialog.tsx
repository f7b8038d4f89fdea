// Confirms that a VPN session, or all of a user, shall end at the RADIUS client.

import type { SessionView } from "../../../api/accounting_sessions/session_routes.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";

interface DialogProps {
  readonly models: Models;
  /** Called when the order is stored. The list shows its result. */
  readonly onOrdered: () => Promise<void>;
  readonly onClose: () => void;
}

export function DisconnectDialog(
  { models, session, onOrdered, onClose }: DialogProps & { session: SessionView },
) {
  const { id, user, client, nas, sessionId, framedAddress } = session;
  const param = escapeParams({ id });
  const address = framedAddress || "–";
  return (
    <ConfirmDialog
      title={t("live.session_disconnect_title", { user: user || t("live.session_no_user") })}
      submitLabel={t("live.session_disconnect")}
      onConfirm={async () => {
        await models.session.whileSignedIn(() =>
          take(models.api.connected[":id"].disconnect.$post({ param, json: {} }))
        );
        await onOrdered();
      }}
      onClose={onClose}
    >
      <p>{t("live.session_disconnect_what", { client, nas, session: sessionId, address })}</p>
      <p>{t("live.session_disconnect_again")}</p>
    </ConfirmDialog>
  );
}

export function DisconnectAllDialog(
  { models, user, count, onOrdered, onClose }: DialogProps & { user: string; count: number },
) {
  const param = escapeParams({ id: user });
  return (
    <ConfirmDialog
      title={t("live.session_disconnect_all_title", { user, count })}
      submitLabel={t("live.session_disconnect_all")}
      onConfirm={async () => {
        await models.session.whileSignedIn(() =>
          take(models.api.users[":id"].sessions.disconnect.$post({ param, json: {} }))
        );
        await onOrdered();
      }}
      onClose={onClose}
    >
      <p>{t("live.session_disconnect_again")}</p>
    </ConfirmDialog>
  );
}
