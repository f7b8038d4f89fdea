// What is asked before a deed on many users: a deletion or deactivation counts what goes with them, a membership names its
// group.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BulkPreview } from "../../../api/users/bulk_types.ts";
import { type Choice, previewDeed } from "../../models/bulk_calls.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Dialog } from "../dialog.tsx";
import { Problem } from "../note.tsx";
import { GroupPicker } from "./group_picker.tsx";
import { Skeleton } from "../states.tsx";

interface LeaveProps {
  readonly action: "delete" | "deactivate";
  readonly models: Models;
  readonly target: string;
  readonly choice: Choice;
  readonly begin: () => Promise<void>;
  readonly onClose: () => void;
}

export function BulkLeaveDialog({ action, models, target, choice, begin, onClose }: LeaveProps) {
  const preview = useSignal<BulkPreview | null>(null);
  const deed = useDeed();
  useEffect(
    () => void deed.run(async () => preview.value = await previewDeed(models, { target, choice })),
    [],
  );
  const seen = preview.value;
  if (seen === null) {
    return (
      <Dialog title={t(`groups.bulk_${action}`)} onClose={onClose}>
        {deed.busy.value && <Skeleton rows={3} />}
        <Problem of={deed.fault} />
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
  readonly begin: (group: string) => Promise<void>;
  readonly onClose: () => void;
}

export function BulkGroupDialog({ models, target, action, begin, onClose }: GroupProps) {
  const deed = useDeed();
  const pick = (group: string) =>
    deed.run(async () => {
      await begin(group);
      onClose();
    });
  return (
    <Dialog title={t(`groups.bulk_${action}`)} onClose={onClose}>
      <Problem of={deed.fault} />
      <GroupPicker models={models} target={target} taken={[]} onPick={pick} />
    </Dialog>
  );
}
