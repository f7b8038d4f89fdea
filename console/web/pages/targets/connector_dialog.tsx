// The dialog of a connector: what it is, how to reach it, and a test that reads its first users before anything is saved.

import { type Signal, useSignal } from "@preact/signals";
import type { ConfigFault } from "../../../api/target_settings/target_setting_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { spanText } from "../../app/format.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { language, t } from "../../i18n/translate.ts";
import { faultText, sentenceText } from "../settings/setting_problems.ts";
import { ConnectorFields } from "./connector_fields.tsx";
import {
  type Directory,
  type DirectorySaved,
  type OnDirectorySaved,
  saveDirectory,
  type TargetTest,
  testConnector,
} from "./directory_calls.ts";
import { testBackend } from "./target_calls.ts";
import {
  CONNECTOR_FIELDS,
  CONNECTOR_PRESETS,
  type ConnectorDraft,
  connectorPreset,
  connectorsOf,
  type ConnectorTable,
  fieldProblem,
  fieldsOf,
  freeName,
  nameProblem,
  PRESET_NAMES,
  type PresetName,
  toConnector,
  toConnectorDraft,
  withConnector,
} from "./directory_form.ts";

interface DialogProps {
  readonly models: Models;
  readonly directory: Directory;
  /** The connector to change; `null`: a new one. */
  readonly name: string | null;
  readonly onSaved: OnDirectorySaved;
  readonly onClose: () => void;
}

export function ConnectorDialog({ models, directory, name, onSaved, onClose }: DialogProps) {
  const stored = connectorsOf(directory.table).find(([one]) => one === name)?.[1];
  const preset = useSignal<PresetName>(stored === undefined ? "openldap" : connectorPreset(stored));
  const newName = useSignal(name ?? freeName(directory.table, CONNECTOR_PRESETS[preset.value].name));
  const draft = useSignal<ConnectorDraft>(toConnectorDraft(preset.value, stored));
  const problems = useSignal<ReadonlyMap<string, string>>(new Map());
  const connector = () => toConnector({ preset: preset.value, draft: draft.value }, stored);
  const choose = (next: PresetName) => {
    preset.value = next;
    newName.value = freeName(directory.table, CONNECTOR_PRESETS[next].name);
    draft.value = toConnectorDraft(next);
    problems.value = new Map();
  };
  /** Whether every field can be sent. */
  const isComplete = (): boolean => {
    const found = fieldsOf(preset.value).flatMap((field) => {
      const problem = fieldProblem(field, draft.value);
      return problem === null ? [] : [[field.name, problem] as const];
    });
    const taken = connectorsOf(directory.table).map(([one]) => one);
    const bad = name === null ? nameProblem(newName.value.trim(), taken) : null;
    problems.value = new Map(bad === null ? found : [["name", bad], ...found]);
    return problems.value.size === 0;
  };
  const showFaults = (refused: DirectorySaved) => {
    if (refused.kind !== "faults") return;
    problems.value = connectorProblems(refused.faults, {
      directory: directory.name,
      name: newName.value.trim(),
    });
  };
  const save = async () => {
    if (!isComplete()) return "stay" as const;
    const one = newName.value.trim();
    const table = withConnector(directory.table, { name: one, connector: connector() });
    const saved = await saveDirectory(models, directory, table);
    if (saved.kind === "faults") {
      showFaults(saved);
      return "stay" as const;
    }
    if (preset.value !== "store") await checkSaved(models, directory, one);
    return await onSaved(savedText(one, { isNew: name === null, preset: preset.value }), saved);
  };
  const otherProblem = problems.value.get("") ?? null;
  return (
    <FormDialog
      title={name === null ? t("targets.add_connector") : t("common.edit_name", { name })}
      submitLabel={name === null ? t("targets.add_connector") : t("targets.save_connector")}
      failureTitle={t("targets.not_saved")}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {otherProblem !== null && <Alert tone="bad" role="alert">{otherProblem}</Alert>}
      {name === null && (
        <NewConnector
          preset={preset.value}
          name={newName}
          problem={problems.value.get("name") ?? null}
          onChoose={choose}
        />
      )}
      <ConnectorFields
        preset={preset.value}
        draft={draft}
        problems={problems.value}
        stored={secretsOf(directory, name)}
      />
      {preset.value !== "store" && (
        <ConnectionTest
          key={preset.value}
          {...{ models, directory, draft, connector, isComplete }}
          onFaults={showFaults}
          name={name ?? newName.value.trim()}
        />
      )}
    </FormDialog>
  );
}

/** The page shows at once whether the connector works. The test on the page shows why not. */
async function checkSaved(models: Models, { name }: Directory, connector: string): Promise<void> {
  await testBackend(models, name, connector).catch(() => undefined);
}

function savedText(name: string, { isNew, preset }: { isNew: boolean; preset: PresetName }): string {
  const saved = t("targets.connector_saved", { name });
  return isNew && preset !== "store" ? `${saved} ${t("targets.connector_next")}` : saved;
}

interface NewProps {
  readonly preset: PresetName;
  readonly name: Signal<string>;
  readonly problem: string | null;
  readonly onChoose: (preset: PresetName) => void;
}

/** What only a new connector has: its type and its name. */
function NewConnector({ preset, name, problem, onChoose }: NewProps) {
  return (
    <>
      <SelectField
        id="connector-type"
        label={t("common.type")}
        hint={t(`targets.type_hint_${preset}`)}
        options={PRESET_NAMES.map((one) => ({ value: one, label: t(`targets.type_${one}`) }))}
        value={preset}
        onChoose={(next) => onChoose(next as PresetName)}
      />
      <TextField
        id="connector-name"
        label={t("common.name")}
        hint={t("targets.name_hint")}
        problem={problem}
        text={name}
        input={{ maxLength: 64, spellcheck: false, required: true }}
      />
    </>
  );
}

/** The names of the stored secrets of a connector. */
function secretsOf({ secrets }: Directory, name: string | null): readonly string[] {
  const prefix = `${name}.`;
  return name === null
    ? []
    : secrets.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
}

/** The server's faults by field. Faults of other keys are under "". */
function connectorProblems(
  faults: readonly ConfigFault[],
  { directory, name }: { directory: string; name: string },
): ReadonlyMap<string, string> {
  const prefix = `targets.${directory}.backends.${name}.`;
  const names = new Set(Object.values(CONNECTOR_FIELDS).flat().map((field) => field.name));
  return new Map(faults.map((fault) => {
    const { key } = fault;
    const field = key.startsWith(prefix) ? key.slice(prefix.length).split(".", 1)[0] ?? "" : "";
    return names.has(field) ? [field, sentenceText(fault)] : ["", faultText(fault)];
  }));
}

interface TestProps {
  readonly models: Models;
  readonly directory: Directory;
  readonly name: string;
  readonly draft: Signal<ConnectorDraft>;
  readonly connector: () => ConnectorTable;
  readonly isComplete: () => boolean;
  /** The values cannot be tested. */
  readonly onFaults: (refused: DirectorySaved) => void;
}

function ConnectionTest({ models, directory, name, draft, connector, isComplete, onFaults }: TestProps) {
  const action = useAction();
  const result = useSignal<{ readonly of: ConnectorDraft; readonly test: TargetTest } | null>(null);
  // A result is for the values that were tested.
  const shown = result.value?.of === draft.value ? result.value.test : null;
  const run = () => {
    if (!isComplete()) return;
    const of = draft.value;
    return action.run(async () => {
      const test = await testConnector(models, directory, { name, connector: connector() });
      if ("kind" in test) onFaults(test);
      else result.value = { of, test };
    });
  };
  return (
    <section class="connector-test" aria-label={t("targets.test_title")}>
      <div class="people-actions">
        <Button busy={action.busy.value} onClick={run}>{t("targets.test_run")}</Button>
        <span class="quiet">{t("targets.test_why")}</span>
      </div>
      <ErrorAlert of={action.fault} />
      {shown !== null && <TestResult test={shown} />}
    </section>
  );
}

function TestResult({ test }: { test: TargetTest }) {
  const { ok, tookMs, users } = test;
  return (
    <>
      <Alert tone={ok ? "ok" : "bad"} icon={ok ? "check" : "alert"} role="status">
        {ok ? t("targets.test_ok", { time: spanText(tookMs) }) : <bdi>{testText(test)}</bdi>}
      </Alert>
      {ok && users.length === 0 && <p class="quiet">{t("targets.test_no_users")}</p>}
      {users.map(({ user, rows }) => (
        <details class="connect-more" key={user}>
          <summary>
            <bdi class="mono">{user}</bdi>
          </summary>
          <dl class="connect-facts">
            {rows.map((row) => (
              <div key={row.name}>
                <dt class="mono">{row.name}</dt>
                <dd class="mono">
                  <bdi>{row.values.join(", ")}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </>
  );
}

/** The server's English message has details. Other languages have a message for each code. */
function testText({ code, message }: TargetTest): string {
  return language.value === "en" ? message : t(`targets.trial_${code}`);
}
