// The set-up steps of the first run: the first RADIUS client, and the first target with its users.

import { useSignal } from "@preact/signals";
import type { TargetRow } from "../../../api/targets/target_types.ts";
import type { UserPage } from "../../../api/users/user_types.ts";
import { useAction } from "../../app/action.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, Empty, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { StateText } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import { Button } from "../../components/button.tsx";
import { fetchClients, placeText } from "../clients/client_form.ts";
import { backendLabel } from "../../components/backend_results.tsx";
import {
  type Directory,
  fetchDirectory,
  type OnDirectorySaved,
  requireDirectorySaved,
} from "../targets/directory_calls.ts";
import { fetchSample, fetchTargets, startTargetRefresh, testBackend } from "../targets/target_calls.ts";
import { fetchUsers } from "../users/user_calls.ts";

// Loaded when they are opened: the first page stays small.
const AddClientDialog = lazy(async () => (await import("../clients/client_dialogs.tsx")).AddClientDialog);
const ConnectorDialog = lazy(async () => (await import("../targets/connector_dialog.tsx")).ConnectorDialog);
const CreateUserDialog = lazy(async () => (await import("../users/create_user_dialog.tsx")).CreateUserDialog);

export interface SetupStepProps {
  readonly models: Models;
  /** Fetches the state of the steps again. */
  readonly refresh: () => Promise<unknown>;
}

export function ClientStep({ models, refresh }: SetupStepProps) {
  const list = useResource(models, { fetch: () => fetchClients(models), inputs: [] });
  const adding = useSignal(false);
  const reason = permissionHint(models, "owner");
  return (
    <section class="panel people-panel" aria-label={t("shell.clients")}>
      <Fetched resource={list}>
        {({ items, ldap, gateway }) => (
          <>
            {items.length === 0 && (
              <Empty
                title={t("common.clients_none")}
                next={t("firstrun.client_next")}
              />
            )}
            <ul class="people-list">
              {items.map((client) => (
                <li key={client.name}>
                  <a class="mono" href={`/clients/${encodeURIComponent(client.name)}`}>{client.name}</a>
                  <bdi class="mono quiet">{placeText(client)}</bdi>
                </li>
              ))}
            </ul>
            <button
              type="button"
              class={`button ${items.length === 0 ? "button-primary" : ""}`}
              disabled={reason !== undefined}
              title={reason}
              onClick={() => adding.value = true}
            >
              <Icon name="plus" /> {t("common.client_add")}
            </button>
            {adding.value && (
              <AddClientDialog
                models={models}
                ldap={ldap}
                gateway={gateway}
                onDone={() => {
                  void list.reload();
                  void refresh();
                }}
                onClose={() => adding.value = false}
              />
            )}
          </>
        )}
      </Fetched>
    </section>
  );
}

/** A refresh runs in the background, and the page shows its progress. */
const POLL_INTERVAL_MS = 2000;

export function TargetStep({ models, refresh }: SetupStepProps) {
  const list = useResource(models, { fetch: () => fetchTargets(models), inputs: [] });
  useInterval(POLL_INTERVAL_MS, list.reload);
  return (
    <Fetched resource={list}>
      {({ items }) =>
        items.map((target) => (
          <TargetCard
            key={target.name}
            models={models}
            target={target}
            refresh={() => Promise.all([list.reload(), refresh()])}
          />
        ))}
    </Fetched>
  );
}

const FIRST_USER = { q: "", page: "1", size: "1", status: "", enrolled: "", backend: "", sync: "" };

function TargetCard({ models, target, refresh }: SetupStepProps & { readonly target: TargetRow }) {
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const making = useSignal<UserPage | null>(null);
  const remote = target.backends.filter(({ kind }) => kind !== "store");
  const run = async (call: () => Promise<unknown>) => {
    busy.value = true;
    problem.value = null;
    try {
      await call();
      await refresh();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  /** The dialog needs the backends of the target. */
  const make = () =>
    run(async () => {
      making.value = await fetchUsers(models, { ...FIRST_USER, target: target.name });
    });
  const mayTest = permissionHint(models, "operator");
  const mayChange = permissionHint(models, "user_manager");
  return (
    <section class="panel people-panel" aria-label={target.name}>
      <h2 class="mono">{target.name}</h2>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {remote.length === 0 && <p class="quiet">{t("firstrun.store_only")}</p>}
      <ul class="people-list">
        {remote.map((row) => (
          <li key={row.name}>
            <strong class="mono">{row.name}</strong>
            <StateText words={backendLabel(row)} />
            {row.lastFault !== null && <bdi class="quiet">{row.lastFault.detail}</bdi>}
            <Button
              small
              disabled={busy.value}
              reason={mayTest}
              of={row.name}
              onClick={() => run(() => testBackend(models, target.name, row.name))}
            >
              {t("common.test")}
            </Button>
          </li>
        ))}
      </ul>
      <Sample models={models} target={target} />
      <div class="first-actions">
        <ConnectDirectory models={models} target={target} refresh={refresh} />
        {remote.length > 0 && (
          <Button
            disabled={busy.value}
            reason={mayChange}
            onClick={() => run(() => startTargetRefresh(models, target.name))}
          >
            {t("common.refresh_begin")}
          </Button>
        )}
        <Button disabled={busy.value} reason={mayChange} onClick={make}>{t("common.create_user")}</Button>
        <a class="button" href="/connections">{t("firstrun.connect_idp")}</a>
      </div>
      {making.value !== null && (
        <CreateUserDialog
          models={models}
          page={making.value}
          onMade={() => {
            making.value = null;
            void refresh();
          }}
          onClose={() => making.value = null}
        />
      )}
    </section>
  );
}

/** Adds a connector to the directory. The dialog needs its settings. */
function ConnectDirectory({ models, target, refresh }: SetupStepProps & { readonly target: TargetRow }) {
  const connecting = useSignal<Directory | null>(null);
  const action = useAction();
  const isFirst = target.users === 0 && target.backends.every(({ kind }) => kind === "store");
  const onSaved: OnDirectorySaved = async (said, saved) => {
    if (saved.kind === "edit") return "stay";
    requireDirectorySaved(saved);
    models.toasts.show(said, { tone: "ok" });
    await refresh();
  };
  return (
    <>
      <ErrorAlert of={action.fault} />
      <Button
        kind={isFirst ? "primary" : undefined}
        busy={action.busy.value}
        reason={permissionHint(models, "owner")}
        onClick={() => action.run(async () => connecting.value = await fetchDirectory(models, target.name))}
      >
        {t("firstrun.connect_ldap")}
      </Button>
      {connecting.value !== null && (
        <ConnectorDialog
          models={models}
          directory={connecting.value}
          name={null}
          onSaved={onSaved}
          onClose={() => connecting.value = null}
        />
      )}
    </>
  );
}

/** Fetched again when the number of users changes. */
function Sample({ models, target }: Pick<SetupStepProps, "models"> & { readonly target: TargetRow }) {
  const sample = useResource(models, {
    fetch: () => fetchSample(models, target.name),
    inputs: [target.users],
  });
  return (
    <Fetched resource={sample}>
      {({ users }) =>
        users.length === 0 ? <Empty title={t("firstrun.no_users")} next={t("firstrun.no_users_next")} /> : (
          <>
            <h3>{t("firstrun.mapped", { count: users.length, all: target.users })}</h3>
            <div class="first-sample">
              {users.map(({ user, rows }) => (
                <section key={user} aria-label={user}>
                  <h4>
                    <a href={userHref(user, target.logsIn ? "" : target.name)}>{user}</a>
                  </h4>
                  <dl class="connect-facts">
                    {rows.map(({ name, values }) => (
                      <div key={name}>
                        <dt class="mono">{name}</dt>
                        <dd class="mono">
                          <bdi>{values.join(", ")}</bdi>
                        </dd>
                      </div>
                    ))}
                  </dl>
                </section>
              ))}
            </div>
          </>
        )}
    </Fetched>
  );
}
