// SCIM credentials: the list, creation (the password is shown once), and revocation.

import { useSignal } from "@preact/signals";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { Checkbox } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { useRows } from "../../components/row_actions.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["credentials.none", "credentials.none_next"],
} as const;

type Row = Awaited<ReturnType<typeof fetchCredentials>>["items"][number];

export default function CredentialsPage({ models }: PageProps) {
  const reason = permissionHint(models, "owner");
  if (reason === undefined) return <Owners models={models} />;
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.credentials")} />
      <Alert tone="idle">{reason}</Alert>
    </main>
  );
}

function Owners({ models }: { models: Models }) {
  const list = useResource(models, { fetch: () => fetchCredentials(models), inputs: [] });
  const adding = useSignal(false);
  const rows = useRows(models, list);
  const answer = readyValue(list.state.value);
  return (
    <ListPage
      models={models}
      name="credentials"
      initialSort="name"
      title={t("shell.credentials")}
      texts={TEXTS}
      resource={list}
      note={() => (
        <Alert tone="idle">
          {t("credentials.not_providers")} <a href="/connections">{t("shell.connections")}</a>
        </Alert>
      )}
      actions={
        <Button kind="primary" icon="plus" onClick={() => adding.value = true}>
          {t("credentials.add")}
        </Button>
      }
      rows={({ items }) => items}
      columns={columnsOf(models)}
      actionsOf={({ name, targets, from }) => [
        rows.audit(`credential:${targets[0] ?? ""}/${name}`),
        rows.action({
          label: t("common.revoke"),
          icon: "trash-2",
          isBad: true,
          reason: from === "settings" ? t("common.in_settings_file") : undefined,
          ask: { title: t("common.token_revoke_title", { name }), text: t("common.token_revoke_what") },
          async run() {
            await revokeCredential(models, name);
            return t("common.token_revoked", { name });
          },
        }),
      ]}
      keyOf={(row) => row.name}
    >
      {adding.value && answer !== null && (
        <CredentialDialog
          models={models}
          targets={answer.targets}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
    </ListPage>
  );
}

function columnsOf(models: Models): readonly TableColumn<Row>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      id: "targets",
      label: t("shell.targets"),
      cell: ({ targets }) => <bdi class="cut mono" title={targets.join(", ")}>{targets.join(", ")}</bdi>,
    },
    {
      id: "access",
      label: t("common.permission"),
      width: "140px",
      sort: ({ access }) => access,
      cell: ({ access }) => t(`credentials.access_${access}`),
    },
    {
      id: "created",
      label: t("common.created_at"),
      width: "140px",
      priority: 2,
      isLargestFirst: true,
      sort: ({ createdMs }) => createdMs,
      cell: ({ createdMs }) =>
        createdMs === null ? t("common.from_settings") : <Time models={models} atMs={createdMs} />,
    },
  ];
}

interface AddProps {
  readonly models: Models;
  readonly targets: readonly string[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly access: "read" | "write";
}

const NAME_ROWS: readonly FieldRow<Draft>[] = [{
  name: "name",
  label: "common.name",
  hint: "common.name_hint",
  input: { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+", autofocus: true },
}];
const ACCESS_ROWS: readonly FieldRow<Draft>[] = [{
  name: "access",
  label: "common.permission",
  choices: ["write", "read"],
  choiceLabel: (value) => t(`credentials.access_${value}`),
}];

function CredentialDialog({ models, targets, onDone, onClose }: AddProps) {
  const draft = useSignal<Draft>({ name: "", access: "write" });
  const chosen = useSignal<readonly string[]>(targets.slice(0, 1));
  const make = async () => {
    const { name } = draft.value;
    const { password, url } = await addCredential(models, { ...draft.value, targets: [...chosen.value] });
    onDone();
    return {
      title: t("credentials.password_of", { name }),
      secret: password,
      wide: true,
      children: <FirstCall command={`curl --user '${name}:${password}' '${url}?count=1'`} />,
    };
  };
  return (
    <FormDialog
      title={t("credentials.add")}
      submitLabel={t("credentials.add")}
      reason={chosen.value.length === 0 ? t("credentials.choose_target") : undefined}
      onClose={onClose}
      onSubmit={make}
    >
      <FormFields prefix="credential" draft={draft} rows={NAME_ROWS} />
      <fieldset class="connect-choice">
        <legend>{t("shell.targets")}</legend>
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
      <FormFields prefix="credential" draft={draft} rows={ACCESS_ROWS} />
    </FormDialog>
  );
}

function FirstCall({ command }: { command: string }) {
  return (
    <>
      <p>{t("credentials.curl")}</p>
      <pre class="mono" role="group" tabIndex={0} aria-label="curl">{command}</pre>
    </>
  );
}

const idOf = (name: string) => ({ param: escapeParams({ id: name }) });

const fetchCredentials = ({ api }: Models) => take(api.credentials.$get());

const addCredential = (
  { api, session }: Models,
  json: { name: string; targets: string[]; access: "read" | "write" },
) => session.whileSignedIn(() => take(api.credentials.$post({ json })));

const revokeCredential = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api.credentials[":id"].$delete(idOf(name))));
