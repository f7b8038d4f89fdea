// The button that undoes a change of settings from its audit record.

import type { AuditItem } from "../../../api/audit/audit_log.ts";
import { useAction } from "../../app/action.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { fullTimeText } from "../../app/format.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";

/** @param props.item a record of any action; others than a change of settings have no button. */
export function UndoChange({ models, item: { id, action, atMs } }: { models: Models; item: AuditItem }) {
  const { busy, fault, run } = useAction();
  if (action !== "settings.change") return null;
  const undo = () =>
    run(async () => {
      await models.session.whileSignedIn(() =>
        take(models.api.settings.undo.$post({ json: { auditId: id } }))
      );
      models.toasts.show(t("audit.undone"), { tone: "ok" });
    });
  return (
    <>
      <Button
        small
        busy={busy.value}
        reason={permissionHint(models, "owner")}
        of={fullTimeText(atMs)}
        onClick={undo}
      >
        {t("common.undo")}
      </Button>
      <ErrorAlert of={fault} />
    </>
  );
}
