// The dialogs that create and remove a directory.

import { useSignal } from "@preact/signals";
import type { OneTarget } from "../../../api/targets/target_types.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";

import { Button } from "../../components/button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { ConfirmDialog, FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { sentenceText } from "../settings/setting_problems.ts";
import {
  addDirectory,
  type Directory,
  removeDirectory,
  requireDirectorySaved,
  showSaved,
} from "./directory_calls.ts";
import { nameProblem } from "./directory_form.ts";

/** The button above the list of directories, with its dialog. */
export function CreateDirectory({ models, taken }: { models: Models; taken: readonly string[] }) {
  const isOpen = useSignal(false);
  return (
    <>
      <Button
        kind="primary"
        icon="plus"
        reason={permissionHint(models, "owner")}
        onClick={() => isOpen.value = true}
      >
        {t("targets.create")}
      </Button>
      {isOpen.value && <CreateDialog models={models} taken={taken} onClose={() => isOpen.value = false} />}
    </>
  );
}

interface CreateProps {
  readonly models: Models;
  readonly taken: readonly string[];
  readonly onClose: () => void;
}

function CreateDialog({ models, taken, onClose }: CreateProps) {
  const name = useSignal("");
  const problem = useSignal<string | null>(null);
  return (
    <FormDialog
      title={t("targets.create")}
      submitLabel={t("targets.create")}
      failureTitle={t("targets.not_saved")}
      onSubmit={async () => {
        const wanted = name.value.trim();
        problem.value = nameProblem(wanted, taken);
        if (problem.value !== null) return "stay";
        const saved = await addDirectory(models, wanted);
        if (saved.kind === "faults") {
          problem.value = saved.faults.map(sentenceText).join(" ");
          return "stay";
        }
        showSaved(models, t("targets.created", { name: wanted }), {
          auditId: requireDirectorySaved(saved),
          onUndone: () => models.router.go("/targets"),
        });
        models.router.go(`/targets/${encodeURIComponent(wanted)}`);
      }}
      onClose={onClose}
    >
      <p class="quiet">{t("targets.create_why")}</p>
      <TextField
        id="directory-name"
        label={t("common.name")}
        hint={t("targets.name_hint")}
        problem={problem.value}
        text={name}
        input={{ required: true, maxLength: 64, spellcheck: false, autofocus: true }}
      />
    </FormDialog>
  );
}

interface RemoveProps {
  readonly models: Models;
  readonly target: OneTarget;
  readonly directory: Directory;
  /** Why it cannot be removed. */
  readonly reason: string | undefined;
}

export function RemoveDirectory({ models, target, directory, reason }: RemoveProps) {
  const isOpen = useSignal(false);
  const blocked = reason ??
    (target.logsIn
      ? t("targets.remove_directory_signins")
      : target.name === "default"
      ? t("targets.remove_directory_default")
      : undefined);
  return (
    <div class="people-actions">
      <Button kind="bad" reason={blocked} onClick={() => isOpen.value = true}>
        {t("targets.remove_directory")}
      </Button>
      {isOpen.value && (
        <RemoveDialog
          {...{ models, directory }}
          onClose={() => isOpen.value = false}
        />
      )}
    </div>
  );
}

const KEEP = "keep";

interface RemoveDialogProps extends Omit<RemoveProps, "reason" | "target"> {
  readonly onClose: () => void;
}

function RemoveDialog({ models, directory, onClose }: RemoveDialogProps) {
  const { name, impact: { users, groups, pendingWrites, credentials, connections, clients } } = directory;
  const data = useSignal(KEEP);
  const remove = async () => {
    const isKept = data.value === KEEP;
    const removed = await removeDirectory(models, directory, isKept ? null : { users, groups });
    const auditId = requireDirectorySaved(removed);
    showSaved(models, t("common.name_removed", { name }), {
      auditId: isKept ? auditId : null,
      onUndone: () => models.router.go(`/targets/${encodeURIComponent(name)}`),
    });
    models.router.go("/targets");
  };
  return (
    <ConfirmDialog
      title={t("targets.remove_directory_title", { name })}
      submitLabel={t("targets.remove_directory")}
      count={users + groups}
      word={name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{t("targets.remove_impact", { users, groups })}</p>
      {pendingWrites > 0 && <p>{t("targets.remove_connector_owed", { count: pendingWrites })}</p>}
      {credentials.length > 0 && <p>{t("targets.remove_credentials", { names: credentials.join(", ") })}</p>}
      {connections.length > 0 && <p>{t("targets.remove_connections", { names: connections.join(", ") })}</p>}
      {clients.length > 0 && <p>{t("targets.remove_clients", { names: clients.join(", ") })}</p>}
      {users + groups > 0 && (
        <SelectField
          id="directory-data"
          label={t("targets.remove_data")}
          hint={t(data.value === KEEP ? "targets.remove_kept" : "targets.remove_deleted", { users, groups })}
          options={[
            { value: KEEP, label: t("targets.data_keep") },
            { value: "delete", label: t("targets.data_delete") },
          ]}
          value={data.value}
          onChoose={(value) => data.value = value}
        />
      )}
    </ConfirmDialog>
  );
}
