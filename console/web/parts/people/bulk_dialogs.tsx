// What is asked before a deed on many users: a deletion or deactivation counts what goes with them, a membership names its
// group.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BulkPreview } from "../../../api/people/bulk_shapes.ts";
import { failureText } from "../../api_client.ts";
import { type Choice, previewDeed } from "../../models/bulk_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Dialog } from "../dialog.tsx";
import { Note } from "../note.tsx";
import { GroupPicker } from "./group_picker.tsx";
import { Skeleton } from "../states.tsx";

interface LeaveProps {
  readonly action: "delete" | "deactivate";
  readonly models: Models;
  readonly target: string;
  readonly choice: Choice;
  readonly begin: () => Promise<string | null>;
  readonly onClose: () => void;
}

export function BulkLeaveDialog({ action, models, target, choice, begin, onClose }: LeaveProps) {
  const preview = useSignal<BulkPreview | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    previewDeed(models, { target, choice }).then(
      (value) => preview.value = value,
      (fault) => problem.value = failureText(fault),
    );
  }, []);
  const seen = preview.value;
  if (seen === null) {
    return (
      <Dialog title={t(`groups.bulk_${action}`)} onClose={onClose}>
        {problem.value === null
          ? <Skeleton rows={3} />
          : <Note tone="bad" role="alert">{problem.value}</Note>}
      </Dialog>
    );
  }
  return (
    <ConfirmDialog
      title={t(`groups.bulk_${action}_title`, { count: seen.count })}
      verb={t(`groups.bulk_${action}_verb`, { count: seen.count })}
      count={seen.count}
      onConfirm={begin}
      onClose={onClose}
    >
      <Consequences preview={seen} isGone={action === "delete"} />
      {action === "deactivate" && <p>{t("people.gone_for_good")}</p>}
    </ConfirmDialog>
  );
}

function Consequences({ preview, isGone }: { preview: BulkPreview; isGone: boolean }) {
  const { count, names, backends, factors, memberships, conversations } = preview;
  const more = count - names.length;
  return (
    <ul class="people-consequences">
      <li>
        <bdi>{names.join(", ")}</bdi> {more > 0 && t("groups.bulk_more", { count: more })}
      </li>
      {backends.filter((one) => isGone && one.count > 0).map(({ name, count }) => (
        <li key={name}>{t("groups.bulk_delete_from", { name, count })}</li>
      ))}
      {factors > 0 && <li>{t("groups.bulk_delete_factors", { count: factors })}</li>}
      {memberships > 0 && <li>{t("groups.bulk_delete_memberships", { count: memberships })}</li>}
      {conversations > 0 && <li>{t("groups.bulk_delete_logins", { count: conversations })}</li>}
    </ul>
  );
}

interface GroupProps {
  readonly models: Models;
  readonly target: string;
  readonly action: "join" | "leave";
  readonly begin: (group: string) => Promise<string | null>;
  readonly onClose: () => void;
}

export function BulkGroupDialog({ models, target, action, begin, onClose }: GroupProps) {
  const problem = useSignal<string | null>(null);
  const pick = async (group: string): Promise<void> => {
    problem.value = await begin(group);
    if (problem.value === null) onClose();
  };
  return (
    <Dialog title={t(`groups.bulk_${action}`)} onClose={onClose}>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <GroupPicker models={models} target={target} taken={[]} onPick={pick} />
    </Dialog>
  );
}
