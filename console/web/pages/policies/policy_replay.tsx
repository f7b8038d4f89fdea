// Replays the sign-ins of the last 24 hours with a draft of the policies, and lists what would change.

import { useSignal } from "@preact/signals";
import type { Policy } from "../../../../radius/policy/policy.ts";
import type { ReplayAnswer, ReplayChange } from "../../../api/policies/policy_types.ts";
import { useAction } from "../../app/action.ts";
import { countText, fullTimeText, timeText } from "../../app/format.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { clientText } from "../../components/client_text.ts";
import { t } from "../../i18n/translate.ts";
import type { PolicyCalls } from "./policy_form.ts";
import { effectText } from "./policy_text.ts";

interface ReplayProps {
  readonly calls: Pick<PolicyCalls, "replay">;
  /** The whole list with the draft. */
  readonly draft: readonly Policy[];
}

/** A replay is shown as long as the draft is the same. */
interface Replayed {
  readonly draft: string;
  readonly answer: ReplayAnswer;
}

export function ReplayPanel({ calls, draft }: ReplayProps) {
  const replayed = useSignal<Replayed | null>(null);
  const { busy, fault, run } = useAction();
  const now = JSON.stringify(draft);
  const replay = () => run(async () => replayed.value = { draft: now, answer: await calls.replay(draft) });
  const answer = replayed.value?.draft === now ? replayed.value.answer : null;
  return (
    <div class="policy-replay">
      <div>
        <Button icon="history" busy={busy.value} onClick={replay}>{t("policies.replay")}</Button>
      </div>
      <ErrorAlert of={fault} />
      <div role="status">{answer !== null && <p>{summaryOf(answer)}</p>}</div>
      {answer !== null && answer.changes.length > 0 && <Changes answer={answer} />}
    </div>
  );
}

function summaryOf({ evaluated, changed, cutAtMs }: ReplayAnswer): string {
  const counted = t("policies.replayed", {
    changed: countText(changed),
    evaluated: countText(evaluated),
  });
  return cutAtMs === null
    ? counted
    : `${counted} ${t("policies.replay_cut", { time: fullTimeText(cutAtMs) })}`;
}

function Changes({ answer: { changes, changed } }: { answer: ReplayAnswer }) {
  return (
    <>
      <div class="table-frame" role="region" aria-label={t("policies.replay_changes")} tabIndex={0}>
        <table class="table policy-changes">
          <colgroup>
            <col />
            <col />
            <col />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">{t("shell.conversation")}</th>
              <th scope="col">{t("common.now")}</th>
              <th scope="col">{t("common.after")}</th>
            </tr>
          </thead>
          <tbody>{changes.map((change) => <Change key={change.id} change={change} />)}</tbody>
        </table>
      </div>
      {changed > changes.length && (
        <p class="quiet">{t("policies.replay_shown", { count: changes.length })}</p>
      )}
    </>
  );
}

function Change({ change: { id, user, client, place, atMs, before, after } }: { change: ReplayChange }) {
  return (
    <tr>
      <td>
        <a href={`/live/c/${id}`} title={fullTimeText(atMs)}>{timeText(atMs)}</a> <bdi>{user}</bdi>
        <span class="quiet">
          <bdi>{clientText(client)}</bdi> <bdi>{place}</bdi>
        </span>
      </td>
      {[before, after].map(({ policy, effect }, at) => (
        <td key={at} data-label={`${t(at === 0 ? "common.now" : "common.after")}: `}>
          {effectText(effect)}
          <span class="quiet">
            <bdi>{policy ?? t("shell.settings")}</bdi>
          </span>
        </td>
      ))}
    </tr>
  );
}
