// The page of an identity provider: its requests, existing users that it wants to manage, settings, secrets, and the setup steps.

import type { PageProps } from "../../app/app_context.ts";
import { useAction } from "../../app/action.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { lazy } from "../../components/lazy.tsx";
import { AuditLink, currentTab, PageBar, Panel, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  changeConnection,
  type ConnectionPart,
  connectionState,
  fetchConnection,
  removeConnection,
  secretState,
} from "./connection_calls.ts";
import { ConnectionRequestLog } from "./request_log.tsx";

const parts = () => import("./connection_tabs.ts");
const ExistingUsers = lazy(async () => (await parts()).ExistingUsers);
const ConnectionSettingsForm = lazy(async () => (await parts()).ConnectionSettingsForm);
const SecretList = lazy(async () => (await parts()).SecretList);
const SetupSteps = lazy(async () => (await parts()).SetupSteps);

const REFRESH_INTERVAL_MS = 5000;

export default function ConnectionPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchConnection(models, name), inputs: [name] });
  useInterval(REFRESH_INTERVAL_MS, page.reload);
  const state = page.state.value;
  const item = state.kind === "ready" ? state.value.item : null;
  return (
    <main class="page" id="page">
      <PageBar
        title={name}
        back={{ href: "/connections", label: t("connections.all") }}
        chips={item !== null && <Chip words={connectionState(item)} />}
      >
        <AuditLink object={`connection:${name}`} />
        {item !== null && <PauseButton models={models} item={item} page={page} />}
      </PageBar>
      <Fetched resource={page}>
        {({ item, tokenUrl }) => <Parts models={models} item={item} tokenUrl={tokenUrl} page={page} />}
      </Fetched>
    </main>
  );
}

function PauseButton({ models, item, page }: Omit<ConnectionPart, "tokenUrl">) {
  const { busy, run } = useAction();
  const { name, paused } = item.settings;
  const toggle = () =>
    run(async () => {
      const change = { version: item.version, change: { paused: !paused } };
      await changeConnection(models, name, change).catch((fault) => {
        models.toasts.show(t("common.not_saved"), { tone: "bad" });
        throw fault;
      }).finally(() => void page.reload());
      models.toasts.show(t(paused ? "connections.resumed" : "connections.paused", { name }), { tone: "ok" });
    });
  return (
    <Button busy={busy.value} reason={permissionHint(models, "owner")} onClick={toggle}>
      {t(paused ? "common.resume" : "common.pause")}
    </Button>
  );
}

function Parts(part: ConnectionPart) {
  const { models, item } = part;
  const tabs: readonly Tab[] = [
    { hash: "", label: t("common.requests") },
    { hash: "users", label: t("connections.existing"), count: item.waitingMatches },
    { hash: "settings", label: t("shell.settings") },
    { hash: "secrets", label: t("connections.secrets"), count: item.secrets.length },
    { hash: "setup", label: t("connections.setup") },
  ];
  const current = currentTab(models, tabs);
  return (
    <>
      <Notes {...part} />
      <Facts {...part} />
      <Tabs models={models} tabs={tabs} label={t("connections.parts", { name: item.settings.name })} />
      {current === "" && <ConnectionRequestLog {...part} />}
      {current === "users" && <ExistingUsers {...part} />}
      {current === "settings" && (
        <>
          <ConnectionSettingsForm {...part} />
          <RemoveButton {...part} />
        </>
      )}
      {current === "secrets" && <SecretList {...part} />}
      {current === "setup" && (
        <Panel title={t("connections.setup")}>
          <SetupSteps {...part} secret={null} />
        </Panel>
      )}
    </>
  );
}

/** What keeps the identity provider from working, and what to do. */
function Notes({ models, item }: ConnectionPart) {
  const { settings: { paused, dryRun, target }, deletions, lacksTarget, waitingMatches } = item;
  const { allowed, counted } = deletions;
  const secrets = secretState(item.secrets, models.clock.nowMs.value);
  return (
    <>
      {lacksTarget && <Alert tone="bad">{t("connections.lacks_target", { target })}</Alert>}
      {paused && <Alert tone="wait">{t("connections.is_paused")}</Alert>}
      {dryRun && <Alert tone="wait">{t("connections.is_dry_run")}</Alert>}
      {secrets.tone !== "ok" && (
        <Alert tone={secrets.tone}>
          {secrets.label}. <a href="#secrets">{t("connections.secrets_renew")}</a>
        </Alert>
      )}
      {allowed !== null && counted >= allowed && (
        <Alert tone="bad">
          {t("connections.deletions_reached", { count: allowed })}{" "}
          <a href="#settings">{t("shell.settings")}</a>
        </Alert>
      )}
      {waitingMatches > 0 && (
        <Alert tone="wait">
          {t("connections.waiting", { count: waitingMatches })}{" "}
          <a href="#users">{t("connections.existing")}</a>
        </Alert>
      )}
    </>
  );
}

function Facts({ models, item }: ConnectionPart) {
  const { settings: { kind, target }, lastRequest, deletions: { counted, allowed } } = item;
  return (
    <Panel quiet title={t("connections.facts")}>
      <div class="people-fields">
        <ReadOnlyField label={t("connections.kind")}>{t(`connections.kind_${kind}`)}</ReadOnlyField>
        <ReadOnlyField label={t("common.target")}>
          <a class="mono" href={`/targets/${encodeURIComponent(target)}`}>
            <bdi>{target}</bdi>
          </a>
        </ReadOnlyField>
        <ReadOnlyField label={t("connections.last_request")}>
          {lastRequest === null ? t("common.never") : <Time models={models} atMs={lastRequest.atMs} />}
        </ReadOnlyField>
        <ReadOnlyField label={t("connections.deletions")}>
          {allowed === null ? String(counted) : t("connections.deletions_of", { counted, allowed })}
        </ReadOnlyField>
      </div>
    </Panel>
  );
}

function RemoveButton({ models, item }: ConnectionPart) {
  const { name } = item.settings;
  const ask = () =>
    models.question.value = {
      title: t("connections.remove_title", { name }),
      submitLabel: t("connections.remove"),
      text: (
        <>
          <p>{t("connections.remove_why")}</p>
          <p>{t("connections.remove_users")}</p>
          <p>{t("connections.remove_name", { name })}</p>
        </>
      ),
      isBad: true,
      async run() {
        await removeConnection(models, name);
        models.toasts.show(t("connections.removed", { name }), { tone: "ok" });
        models.router.go("/connections");
      },
    };
  return (
    <div class="people-actions">
      <Button kind="bad" reason={permissionHint(models, "owner")} onClick={ask}>
        {t("connections.remove")}
      </Button>
    </div>
  );
}
