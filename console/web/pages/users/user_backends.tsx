// The attributes of a user in each backend, with differences marked, and the sync status with a retry.

import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import type { BackendView, UserDetails } from "../../../api/users/user_types.ts";
import { useInterval } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { valueText } from "./attribute_text.ts";
import type { UserPart } from "./user_page_model.ts";
import { backendState } from "./user_states.tsx";

const POLL_INTERVAL_MS = 2000;

export function UserBackends(part: UserPart) {
  const { models, user, calls, page } = part;
  const { record, backends } = user;
  const isPending = backends.some(({ state }) => state?.operation !== undefined);
  useInterval(POLL_INTERVAL_MS, async () => {
    if (isPending) await page.refreshBackends();
  });
  const refreshing = useSignal(false);
  const reason = permissionHint(models, "operator");
  const refresh = async () => {
    refreshing.value = true;
    await page.change({
      call: async () => ({ user: await calls.refresh() }),
      done: t("users.refreshed"),
      failed: t("users.not_refreshed"),
    });
    refreshing.value = false;
  };
  if (record === null) return null;
  return (
    <Panel quiet title={t("users.by_connector")}>
      <div class="people-head">
        <p class="quiet">{t("users.truth_hint")}</p>
        <Button icon="refresh-cw" reason={reason} busy={refreshing.value} onClick={refresh}>
          {t("users.refresh")}
        </Button>
      </div>
      <TruthTable record={record} backends={backends} name={user.name} />
      <ul class="people-list">
        {backends.map((backend) => <BackendStatus key={backend.name} {...part} backend={backend} />)}
      </ul>
    </Panel>
  );
}

function BackendStatus({ models, page, backend }: UserPart & { backend: BackendView }) {
  const { name, kind, mode, state } = backend;
  const reason = permissionHint(models, "user_manager");
  const differs = state?.differs === true;
  const isOwed = state?.operation !== undefined;
  return (
    <li>
      <strong>
        <bdi>{name}</bdi>
      </strong>
      <span class="quiet small">{`${kind}, ${t(mode === "async" ? "users.later" : "users.at_once")}`}</span>
      <StateText words={backendState(state === null ? null : { state: state.state, differs })} />
      {state !== null && <Time models={models} atMs={state.sinceMs} />}
      {state?.remoteId !== undefined && <bdi class="mono quiet small">{state.remoteId}</bdi>}
      {state?.why !== undefined && <span class="small">{state.why}</span>}
      {(isOwed || differs || state?.state === "vanished") && (
        <Button
          small
          reason={reason}
          of={name}
          onClick={() => page.retry(name)}
        >
          {t(isOwed ? "common.try_again" : "users.make_agree")}
        </Button>
      )}
    </li>
  );
}

type Cells = ReadonlyMap<string, string>;

function TruthTable({ record, backends, name }: {
  record: UserDetails;
  backends: readonly BackendView[];
  name: string;
}) {
  const own = cellsOf(record);
  const columns = backends.map((backend) => ({
    backend,
    cells: backend.state === null || backend.state.state === "vanished"
      ? null
      : backend.holds === null && backend.state.operation !== undefined
      ? "owed" as const
      : backend.holds === null
      ? own
      : cellsOf(backend.holds),
  }));
  const names = [
    ...new Set(
      [own, ...columns.flatMap(({ cells }) => cells === null || cells === "owed" ? [] : [cells])].flatMap((
        one,
      ) => [...one.keys()]),
    ),
  ];
  return (
    <div class="table-frame" role="region" aria-label={t("users.truth", { name })} tabIndex={0}>
      <table class="table people-truth">
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{t("common.target")}</th>
            {backends.map((backend) => <th key={backend.name} scope="col">{backend.name}</th>)}
          </tr>
        </thead>
        <tbody>
          {names.map((attribute) => (
            <tr key={attribute}>
              <th scope="row" class="mono">{attribute}</th>
              <td>
                <bdi>{own.get(attribute) ?? ""}</bdi>
              </td>
              {columns.map(({ backend, cells }) => (
                <Cell
                  key={backend.name}
                  own={own.get(attribute) ?? ""}
                  held={cells === null || cells === "owed" ? cells : { value: cells.get(attribute) ?? "" }}
                  keeper={backend.keeps?.includes(attribute) === true ? backend.name : null}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A value in a backend: unknown while a write is pending; `null` if the backend does not have the user. */
type Held = { readonly value: string } | "owed" | null;

/** @param props.keeper the backend if the attribute is read-only there. Then no difference is marked. */
function Cell({ own, held: cell, keeper }: { own: string; held: Held; keeper: string | null }) {
  if (cell === null) return <td class="quiet">{t("users.sync_absent")}</td>;
  if (cell === "owed") return <td class="quiet">{t("users.sync_pending")}</td>;
  const { value: held } = cell;
  if (keeper !== null) {
    return (
      <td>
        <bdi>{held}</bdi> <span class="quiet small">{t("users.kept_by", { backend: keeper })}</span>
      </td>
    );
  }
  if (held === own) return <td class="quiet">{held === "" ? "" : t("users.same")}</td>;
  return (
    <td class="tone-wait differs">
      <Icon name="line-diamond" size={12} />
      <span class="unseen">{t("users.sync_differs")}</span>
      <bdi>{held === "" ? t("common.none") : held}</bdi>
    </td>
  );
}

/** The attributes as texts; an object has a text for each part. */
function cellsOf({ active, attributes }: { active: boolean; attributes: JsonObject }): Cells {
  const cells = new Map([["active", String(active)]]);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      cells.set(name, valueText(value));
    } else {
      for (const [sub, one] of Object.entries(value)) cells.set(prefixOf(name) + sub, valueText(one));
    }
  }
  return new Map([...cells].filter(([, text]) => text !== ""));
}

/** The URN of an extension is omitted. */
function prefixOf(name: string): string {
  return name.startsWith("urn:") ? "" : `${name}.`;
}
