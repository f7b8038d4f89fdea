// Invites an administrator: a name and a role make a link that is shown once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../api/access.ts";
import { failureText } from "../api_client.ts";
import { inviteAdministrator } from "../models/access_calls.ts";
import type { Models } from "../models/models.ts";
import { t } from "../words/translate.ts";
import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { SelectField } from "./inputs.tsx";
import { Note } from "./note.tsx";
import { SecretOnce } from "./secret_once.tsx";

interface InviteProps {
  readonly models: Models;
  /** Something changed: the list is to be fetched again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function InviteDialog({ models, onDone, onClose }: InviteProps) {
  const role = useSignal<Role>("viewer");
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const made = useSignal<{ name: string; url: string } | null>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value || !(event.currentTarget instanceof HTMLFormElement)) return;
    const name = String(new FormData(event.currentTarget).get("name") ?? "");
    busy.value = true;
    problem.value = null;
    try {
      const { url, invitation } = await inviteAdministrator(models, { name, role: role.value });
      made.value = { name: invitation.name, url };
      onDone();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  if (made.value !== null) {
    return <LinkDialog name={made.value.name} url={made.value.url} onClose={onClose} />;
  }
  return (
    <Dialog title={t("access.invite")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{t("access.invite_why")}</p>
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <Field
          id="invite-name"
          label={t("access.name")}
          input={{ name: "name", required: true, maxLength: 64, autocomplete: "off", autofocus: true }}
        />
        <RoleField id="invite-role" value={role.value} onChoose={(value) => role.value = value} />
        <button type="submit" class="button button-primary" disabled={busy.value}>
          {busy.value ? t("frame.working") : t("access.invite_verb")}
        </button>
      </form>
    </Dialog>
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
  return (
    <Dialog title={t("access.link_for", { name })} onClose={onClose}>
      <SecretOnce label={t("access.link_for", { name })} secret={url} onDone={onClose} />
    </Dialog>
  );
}
