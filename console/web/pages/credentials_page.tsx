// Credentials of the identity interface: who may read and write through it.

import { useSignal } from "@preact/signals";
import { whyNot } from "../access_words.ts";
import { failureText } from "../api_client.ts";
import { addCredential, fetchCredentials, revokeCredential, sayOrProblem } from "../models/connect_calls.ts";
import { useResource } from "../models/resource.ts";
import { ConfirmDialog } from "../parts/confirm_dialog.tsx";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Checkbox, SelectField } from "../parts/inputs.tsx";
import { AuditSign } from "../parts/audit_link.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { SecretOnce } from "../parts/secret_once.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../routes.ts";
import { t } from "../words/translate.ts";

type Models = PageProps["models"];
type Row = Awaited<ReturnType<typeof fetchCredentials>>["items"][number];

export default function CredentialsPage({ models }: PageProps) {
  const reason = whyNot(models, "owner");
  if (reason === undefined) return <Owners models={models} />;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.credentials")} />
      <Note tone="idle">{reason}</Note>
    </main>
  );
}

function Owners({ models }: { models: Models }) {
  const list = useResource(models, { fetch: () => fetchCredentials(models), inputs: [] });
  const adding = useSignal(false);
  const revoking = useSignal<string | null>(null);
  const name = revoking.value;
  const state = list.state.value;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.credentials")}>
        <button type="button" class="button button-primary" onClick={() => adding.value = true}>
          <Symbol name="plus" /> {t("connect.credential_add")}
        </button>
      </PageBar>
      <Fetched resource={list}>
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("connect.credentials_none")} next={t("connect.credentials_none_next")} />
            : (
              <section class="panel">
                <DataTable
                  label={t("frame.credentials")}
                  columns={columnsOf(models, (row) => revoking.value = row.name)}
                  rows={items}
                  keyOf={(row) => row.name}
                  nameOf={(row) => row.name}
                  busy={list.busy.value}
                />
              </section>
            )}
      </Fetched>
      {adding.value && state.kind === "ready" && (
        <AddCredential
          models={models}
          targets={state.value.targets}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
      {name !== null && (
        <ConfirmDialog
          title={t("connect.revoke_title", { name })}
          verb={t("connect.revoke")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            const problem = await sayOrProblem(models, {
              call: () => revokeCredential(models, name),
              said: () => t("connect.revoked", { name }),
            });
            if (problem === null) void list.reload();
            return problem;
          }}
        >
          <p>{t("connect.revoke_why")}</p>
        </ConfirmDialog>
      )}
    </main>
  );
}

function columnsOf(models: Models, revoke: (row: Row) => void): readonly Column<Row>[] {
  return [
    {
      name: "name",
      label: t("connect.name"),
      cell: ({ name, targets }) => (
        <span class="cell-named">
          <bdi class="mono cut">{name}</bdi>
          <AuditSign object={`credential:${targets[0] ?? ""}/${name}`} />
        </span>
      ),
    },
    {
      name: "targets",
      label: t("frame.targets"),
      wideOnly: true,
      cell: ({ targets }) => <bdi class="mono">{targets.join(", ")}</bdi>,
    },
    {
      name: "access",
      label: t("connect.access"),
      width: "120px",
      cell: ({ access }) => t(`connect.access_${access}`),
    },
    {
      name: "made",
      label: t("connect.made"),
      width: "140px",
      wideOnly: true,
      cell: ({ createdMs }) =>
        createdMs === null ? t("connect.from_settings") : <Time models={models} atMs={createdMs} />,
    },
    {
      name: "actions",
      label: t("connect.actions"),
      width: "120px",
      cell: (row) => (
        <button
          type="button"
          class="button button-small"
          disabled={row.from === "settings"}
          title={row.from === "settings" ? t("connect.credential_in_settings") : undefined}
          onClick={() => revoke(row)}
        >
          {t("connect.revoke")} <span class="unseen">{row.name}</span>
        </button>
      ),
    },
  ];
}

interface AddProps {
  readonly models: Models;
  readonly targets: readonly string[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function AddCredential({ models, targets, onDone, onClose }: AddProps) {
  const name = useSignal("");
  const chosen = useSignal<readonly string[]>(targets.slice(0, 1));
  const access = useSignal<"read" | "write">("write");
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const made = useSignal<{ password: string; url: string } | null>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    try {
      made.value = await addCredential(models, {
        name: name.value,
        targets: [...chosen.value],
        access: access.value,
      });
      onDone();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  if (made.value !== null) {
    const title = t("connect.password_of", { name: name.value });
    const { password, url } = made.value;
    return (
      <Dialog title={title} wide onClose={onClose}>
        <SecretOnce label={title} secret={password} onDone={onClose}>
          <p>{t("connect.curl")}</p>
          <pre class="mono" role="group" tabIndex={0} aria-label="curl">
            {`curl --user '${name.value}:${password}' '${url}?count=1'`}
          </pre>
        </SecretOnce>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("connect.credential_add")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field
          id="credential-name"
          label={t("connect.name")}
          hint={t("connect.name_hint")}
          input={{
            value: name.value,
            required: true,
            maxLength: 64,
            pattern: "[A-Za-z0-9._\\-]+",
            autocomplete: "off",
            autofocus: true,
            onInput: (event) => name.value = event.currentTarget.value,
          }}
        />
        <fieldset class="connect-choice">
          <legend>{t("frame.targets")}</legend>
          {targets.map((target) => (
            <Checkbox
              key={target}
              label={target}
              checked={chosen.value.includes(target)}
              onChange={(checked) =>
                chosen.value = checked
                  ? [...chosen.value, target]
                  : chosen.value.filter((one) => one !== target)}
            />
          ))}
        </fieldset>
        <SelectField
          id="credential-access"
          label={t("connect.access")}
          value={access.value}
          options={(["write", "read"] as const).map((value) => ({
            value,
            label: t(`connect.access_${value}`),
          }))}
          onChoose={(value) => access.value = value === "read" ? "read" : "write"}
        />
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <button
          type="submit"
          class="button button-primary"
          disabled={busy.value || chosen.value.length === 0}
          title={chosen.value.length === 0 ? t("connect.choose_target") : undefined}
        >
          {busy.value ? t("frame.working") : t("connect.credential_add")}
        </button>
      </form>
    </Dialog>
  );
}
