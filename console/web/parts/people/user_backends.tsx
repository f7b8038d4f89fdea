// What is true where: attributes against backends, what differs marked, what is owed with its reason and a way to try again.

import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import type { BackendView, UserRecord } from "../../../api/users/user_types.ts";
import { whyNot } from "../../access_words.ts";
import { useEvery } from "../../models/every.ts";
import { valueText } from "../../models/user_form.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Panel } from "../panel.tsx";
import { Status } from "../status.tsx";
import { Symbol } from "../symbol.tsx";
import { Time } from "../time.tsx";
import { backendState } from "./user_states.tsx";

/** How often a backend that is owed something is looked at. */
const LOOK_EVERY_MS = 2000;

export function UserBackends(part: UserPart) {
  const { models, user, calls, page } = part;
  const { record, backends } = user;
  const isOwing = backends.some(({ state }) => state?.operation !== undefined);
  useEvery(LOOK_EVERY_MS, () => void (isOwing && page.lookAtBackends()));
  const refreshing = useSignal(false);
  const reason = whyNot(models, "operator");
  const refresh = async () => {
    refreshing.value = true;
    await page.change({
      call: async () => ({ user: await calls.refresh() }),
      done: t("people.refreshed"),
      failed: t("people.not_refreshed"),
    });
    refreshing.value = false;
  };
  if (record === null) return null;
  return (
    <Panel quiet title={t("people.backends")}>
      <div class="people-head">
        <p class="quiet">{t("people.truth_hint")}</p>
        <Button icon="refresh-cw" reason={reason} busy={refreshing.value} onClick={refresh}>
          {t("people.refresh")}
        </Button>
      </div>
      <TruthTable record={record} backends={backends} name={user.name} />
      <ul class="people-list">
        {backends.map((backend) => <Standing key={backend.name} {...part} backend={backend} />)}
      </ul>
    </Panel>
  );
}

function Standing({ models, page, backend }: UserPart & { backend: BackendView }) {
  const { name, kind, mode, state } = backend;
  const reason = whyNot(models, "user_manager");
  const differs = state?.differs === true;
  const isOwed = state?.operation !== undefined;
  return (
    <li>
      <strong>
        <bdi>{name}</bdi>
      </strong>
      <span class="quiet small">{`${kind}, ${t(mode === "async" ? "people.later" : "people.at_once")}`}</span>
      <Status words={backendState(state === null ? null : { state: state.state, differs })} />
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
          {t(isOwed ? "frame.try_again" : "people.make_agree")}
        </Button>
      )}
    </li>
  );
}

type Cells = ReadonlyMap<string, string>;

function TruthTable({ record, backends, name }: {
  record: UserRecord;
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
    <div class="table-frame" role="region" aria-label={t("people.truth", { name })} tabIndex={0}>
      <table class="table people-truth">
        <thead>
          <tr>
            <th scope="col">{t("frame.attribute")}</th>
            <th scope="col">{t("people.directory")}</th>
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

/** What the backend has: unknown while a write is pending, and nothing if it never had the user. */
type Held = { readonly value: string } | "owed" | null;

/** @param props.keeper the backend, where it keeps the attribute for itself: then nothing differs. */
function Cell({ own, held: whatIsThere, keeper }: { own: string; held: Held; keeper: string | null }) {
  if (whatIsThere === null) return <td class="quiet">{t("people.sync_absent")}</td>;
  if (whatIsThere === "owed") return <td class="quiet">{t("people.sync_pending")}</td>;
  const { value: held } = whatIsThere;
  if (keeper !== null) {
    return (
      <td>
        <bdi>{held}</bdi> <span class="quiet small">{t("people.kept_by", { backend: keeper })}</span>
      </td>
    );
  }
  if (held === own) return <td class="quiet">{held === "" ? "" : t("people.same")}</td>;
  return (
    <td class="tone-wait differs">
      <Symbol name="line-diamond" size={12} />
      <span class="unseen">{t("people.sync_differs")}</span>
      <bdi>{held === "" ? t("frame.none") : held}</bdi>
    </td>
  );
}

/** Each attribute as one text, objects by their parts. */
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

/** An extension's name says nothing to a person: the attribute's own is enough. */
function prefixOf(name: string): string {
  return name.startsWith("urn:") ? "" : `${name}.`;
}
