// API tokens for scripts: made here, shown once, revoked at once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../api/access.ts";
import type { TokenRow } from "../../api/shapes.ts";
import { whyNot } from "../access_words.ts";
import { failureText } from "../api_client.ts";
import { doAndSay, fetchTokens, makeToken, revokeToken } from "../models/access_calls.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { t } from "../words/translate.ts";
import { AccessTable } from "./access_table.tsx";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import type { Column } from "./data_table.tsx";
import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { RoleField } from "./invite_dialog.tsx";
import { Note } from "./note.tsx";
import { SecretOnce } from "./secret_once.tsx";
import { Symbol } from "./symbol.tsx";
import { Time } from "./time.tsx";

export function TokenList({ models }: { models: Models }) {
  const reason = whyNot(models, "owner");
  return reason === undefined ? <OwnersTokens models={models} /> : <Note tone="idle">{reason}</Note>;
}

function OwnersTokens({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchTokens(models), inputs: [] });
  const making = useSignal(false);
  const revoking = useSignal<TokenRow | null>(null);
  const columns: readonly Column<TokenRow>[] = [
    { name: "name", label: t("access.name"), cell: ({ name }) => <bdi class="mono">{name}</bdi> },
    { name: "role", label: t("access.role"), width: "22%", cell: ({ role }) => t(`frame.role_${role}`) },
    {
      name: "by",
      label: t("access.token_by"),
      width: "16%",
      wideOnly: true,
      cell: ({ createdBy }) => <bdi class="mono">{createdBy}</bdi>,
    },
    {
      name: "used",
      label: t("access.token_used"),
      width: "16%",
      wideOnly: true,
      cell: ({ usedMs }) =>
        usedMs === null ? t("access.passkey_unused") : <Time models={models} atMs={usedMs} />,
    },
    {
      name: "ends",
      label: t("access.token_expires"),
      width: "16%",
      wideOnly: true,
      cell: ({ expiresMs }) => <Time models={models} atMs={expiresMs} />,
    },
    {
      name: "actions",
      label: t("access.actions"),
      width: "110px",
      cell: (row) => (
        <button type="button" class="button button-small" onClick={() => revoking.value = row}>
          {t("access.token_revoke")} <span class="unseen">{row.name}</span>
        </button>
      ),
    },
  ];
  const token = revoking.value;
  return (
    <>
      <AccessTable
        label={t("access.tokens")}
        resource={resource}
        columns={columns}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        empty={{ title: t("access.tokens_none"), next: t("access.tokens_none_next") }}
      >
        <button type="button" class="button button-primary" onClick={() => making.value = true}>
          <Symbol name="plus" /> {t("access.token_make")}
        </button>
      </AccessTable>
      {making.value && (
        <MakeToken
          models={models}
          onDone={() => void resource.reload()}
          onClose={() => making.value = false}
        />
      )}
      {token !== null && (
        <ConfirmDialog
          title={t("access.token_revoke_title", { name: token.name })}
          verb={t("access.token_revoke_verb")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            const problem = await doAndSay(models, {
              call: () => revokeToken(models, token.id),
              said: () => t("access.token_revoked_said", { name: token.name }),
            });
            if (problem === null) void resource.reload();
            return problem;
          }}
        >
          <p>{t("access.token_revoke_why")}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const PRESET_DAYS = 90;

function MakeToken({ models, onDone, onClose }: { models: Models; onDone: () => void; onClose: () => void }) {
  const role = useSignal<Role>("viewer");
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const made = useSignal<{ name: string; token: string } | null>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value || !(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    busy.value = true;
    problem.value = null;
    try {
      const wanted = {
        name: String(form.get("name") ?? ""),
        role: role.value,
        days: Number(form.get("days")),
      };
      const { token, item } = await makeToken(models, wanted);
      made.value = { name: item.name, token };
      onDone();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  if (made.value !== null) {
    const title = t("access.token_of", { name: made.value.name });
    return (
      <Dialog title={title} onClose={onClose}>
        <SecretOnce label={title} secret={made.value.token} onDone={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title={t("access.token_make")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{t("access.token_why")}</p>
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <Field
          id="token-name"
          label={t("access.token_name")}
          hint={t("access.token_name_hint")}
          input={{ name: "name", required: true, maxLength: 64, autocomplete: "off", autofocus: true }}
        />
        <RoleField id="token-role" value={role.value} onChoose={(value) => role.value = value} />
        <Field
          id="token-days"
          label={t("access.token_days")}
          input={{
            name: "days",
            type: "number",
            min: 1,
            max: 366,
            defaultValue: PRESET_DAYS,
            required: true,
          }}
        />
        <button type="submit" class="button button-primary" disabled={busy.value}>
          {busy.value ? t("frame.working") : t("access.token_make")}
        </button>
      </form>
    </Dialog>
  );
}
