// Invites an administrator: a name and a role make a link that is shown once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../../api/access.ts";
import { inviteAdministrator } from "../../models/access_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Field } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { SelectField } from "../inputs.tsx";
import { SecretDialog } from "../secret_once.tsx";

interface InviteProps {
  readonly models: Models;
  /** Something changed: the list is to be fetched again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function InviteDialog({ models, onDone, onClose }: InviteProps) {
  const role = useSignal<Role>("viewer");
  const made = useSignal<{ name: string; url: string } | null>(null);
  if (made.value !== null) {
    return <LinkDialog name={made.value.name} url={made.value.url} onClose={onClose} />;
  }
  return (
    <FormDialog
      title={t("access.invite")}
      verb={t("access.invite_verb")}
      onClose={onClose}
      onSubmit={async (field) => {
        const { url, invitation } = await inviteAdministrator(models, {
          name: field("name"),
          role: role.value,
        });
        made.value = { name: invitation.name, url };
        onDone();
      }}
    >
      <p>{t("access.invite_why")}</p>
      <Field
        id="invite-name"
        label={t("access.name")}
        input={{ name: "name", required: true, maxLength: 64, autocomplete: "off", autofocus: true }}
      />
      <RoleField id="invite-role" value={role.value} onChoose={(value) => role.value = value} />
    </FormDialog>
  );
}

/** From least to most. */
const ROLES: readonly Role[] = ["viewer", "operator", "user_manager", "owner"];

interface RoleFieldProps {
  readonly id: string;
  readonly label?: string;
  readonly value: Role;
  readonly onChoose: (role: Role) => void;
}

export function RoleField({ id, label = t("access.role"), value, onChoose }: RoleFieldProps) {
  return (
    <SelectField
      id={id}
      label={label}
      value={value}
      options={ROLES.map((role) => ({ value: role, label: t(`frame.role_${role}`) }))}
      onChoose={(chosen) => {
        const role = ROLES.find((one) => one === chosen);
        if (role !== undefined) onChoose(role);
      }}
    />
  );
}

/** A one-time link, shown once. */
export function LinkDialog({ name, url, onClose }: { name: string; url: string; onClose: () => void }) {
  return <SecretDialog title={t("access.link_for", { name })} secret={url} onClose={onClose} />;
}
