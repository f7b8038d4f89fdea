// Invites an administrator: a name and a role make a link that is shown once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../../api/auth/permissions.ts";
import { inviteAdministrator } from "../../models/access_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { ROLE_ROW } from "./role_row.ts";

export interface MakeProps {
  readonly models: Models;
  /** Something changed: the list is to be fetched again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const ROWS: readonly FieldRow<{ name: string; role: Role }>[] = [
  { name: "name", label: "access.name", input: { required: true, maxLength: 64, autofocus: true } },
  ROLE_ROW,
];

export function InviteDialog({ models, onDone, onClose }: MakeProps) {
  const draft = useSignal<{ name: string; role: Role }>({ name: "", role: "viewer" });
  return (
    <FormDialog
      title={t("access.invite")}
      verb={t("access.invite_verb")}
      onClose={onClose}
      onSubmit={async () => {
        const { url, invitation } = await inviteAdministrator(models, draft.value);
        onDone();
        return { title: t("access.link_for", { name: invitation.name }), secret: url };
      }}
    >
      <p>{t("access.invite_why")}</p>
      <Fields prefix="invite" draft={draft} rows={ROWS} />
    </FormDialog>
  );
}
