// The step of the first target: each of its backends asked whether it answers, its users read or made, and three of them as
// their attributes are mapped.

import { useSignal } from "@preact/signals";
import type { TargetRow } from "../../../api/targets/target_types.ts";
import type { UserPage } from "../../../api/users/user_types.ts";
import { whyNot } from "../../access_words.ts";
import { failureText } from "../../api_client.ts";
import { fetchSample, fetchTargets, refreshTarget, testBackend } from "../../models/connect_calls.ts";
import { useResource } from "../../models/resource.ts";
import { listUsers } from "../../models/user_calls.ts";
import { userHref } from "../../user_href.ts";
import { t } from "../../i18n/translate.ts";
import { backendWords } from "../connect/backend_state.tsx";
import { useEvery } from "../../models/every.ts";
import { Fetched } from "../connect/fetched.tsx";
import { Empty, Note } from "../note.tsx";
import { CreateUserDialog } from "../people/create_user_dialog.tsx";
import { Status } from "../status.tsx";
import type { StepPartProps } from "./client_step.tsx";

/** A refresh goes on in the background; what it has read appears. */
const LOOK_EVERY_MS = 2000;

export function TargetStep({ models, look }: StepPartProps) {
  const list = useResource(models, { fetch: () => fetchTargets(models), inputs: [] });
  useEvery(LOOK_EVERY_MS, () => void list.reload());
  return (
    <Fetched resource={list}>
      {({ items }) =>
        items.map((target) => (
          <OneTarget
            key={target.name}
            models={models}
            target={target}
            look={() => Promise.all([list.reload(), look()])}
          />
        ))}
    </Fetched>
  );
}

function OneTarget({ models, target, look }: StepPartProps & { readonly target: TargetRow }) {
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const making = useSignal<UserPage | null>(null);
  const remote = target.backends.filter(({ kind }) => kind !== "store");
  const run = async (call: () => Promise<unknown>) => {
    busy.value = true;
    problem.value = null;
    try {
      await call();
      await look();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  /** The dialog needs to know the backends that can take a user. */
  const make = () =>
    run(async () => {
      const filters = { q: "", page: "1", size: "1", status: "", enrolled: "", backend: "", sync: "" };
      making.value = await listUsers(models, { ...filters, target: target.name });
    });
  const mayTest = whyNot(models, "operator");
  const mayChange = whyNot(models, "user_manager");
  return (
    <section class="panel people-panel" aria-label={target.name}>
      <h2 class="mono">{target.name}</h2>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {remote.length === 0 && <p class="quiet">{t("live.first_store_only")}</p>}
      <ul class="people-list">
        {remote.map((row) => (
          <li key={row.name}>
            <strong class="mono">{row.name}</strong>
            <Status words={backendWords(row)} />
            {row.lastFault !== null && <bdi class="quiet">{row.lastFault.detail}</bdi>}
            <button
              type="button"
              class="button button-small"
              disabled={mayTest !== undefined || busy.value}
              title={mayTest}
              onClick={() => void run(() => testBackend(models, target.name, row.name))}
            >
              {t("connect.test")} <span class="unseen">{row.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <Sample models={models} target={target} />
      <div class="first-deeds">
        {remote.length > 0 && (
          <button
            type="button"
            class="button"
            disabled={mayChange !== undefined || busy.value}
            title={mayChange}
            onClick={() => void run(() => refreshTarget(models, target.name))}
          >
            {t("connect.refresh_begin")}
          </button>
        )}
        <button
          type="button"
          class={`button ${target.users === 0 && remote.length === 0 ? "button-primary" : ""}`}
          disabled={mayChange !== undefined || busy.value}
          title={mayChange}
          onClick={() => void make()}
        >
          {t("people.create")}
        </button>
      </div>
      {making.value !== null && (
        <CreateUserDialog
          models={models}
          page={making.value}
          onMade={() => {
            making.value = null;
            void look();
          }}
          onClose={() => making.value = null}
        />
      )}
    </section>
  );
}

/** Read again when there are more or fewer. */
function Sample({ models, target }: Pick<StepPartProps, "models"> & { readonly target: TargetRow }) {
  const sample = useResource(models, {
    fetch: () => fetchSample(models, target.name),
    inputs: [target.users],
  });
  return (
    <Fetched resource={sample}>
      {({ users }) =>
        users.length === 0
          ? <Empty title={t("live.first_no_users")} next={t("live.first_no_users_next")} />
          : (
            <>
              <h3>{t("live.first_mapped", { count: users.length, all: target.users })}</h3>
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
