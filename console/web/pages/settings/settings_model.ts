// The Settings page as a model: the loaded settings, the draft, its review, saving, conflicts and undo. The draft outlives a change
// of the topic.

import {
  changesOfDraft,
  type CheckedSettings,
  type DraftValue,
  editDraft,
  editedSettings,
  type FormChanges,
  type FormDraft,
  namesFor,
  NO_DRAFT,
  type Setting,
  type SettingProblem,
} from "./setting_form.ts";
import type { SettingsCalls, SettingsConflict } from "./setting_calls.ts";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { createResource, readyValue, type Resource } from "../../app/resource.ts";
import type { SettingsAnswer } from "../../../api/settings/setting_routes.ts";
import { faultText, sentenceText } from "./setting_problems.ts";

interface SettingsModelDeps {
  readonly session: { whileSignedIn<T>(call: () => Promise<T>): Promise<T> };
  readonly calls: SettingsCalls;
}

/** What happened to a save. */
type SaveOutcome =
  | { readonly kind: "saved"; readonly auditId: string | null; readonly count: number }
  | { readonly kind: "conflict" }
  | { readonly kind: "faults"; readonly first: string | null };

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

export class SettingsModel {
  readonly #calls: SettingsCalls;
  readonly #draft = signal<FormDraft>(NO_DRAFT);
  readonly #problems = signal(NO_PROBLEMS);
  readonly #others = signal<readonly string[]>([]);
  readonly #resets = signal(0);
  readonly #review = signal<CheckedSettings | null>(null);
  readonly #conflicts = signal<readonly SettingsConflict[]>([]);

  readonly page: Resource<SettingsAnswer>;
  readonly draft: ReadonlySignal<FormDraft> = this.#draft;
  /** Why values cannot be saved, by key: what the form or the server found. */
  readonly problems: ReadonlySignal<ReadonlyMap<string, string>> = this.#problems;
  /** What the draft would break elsewhere, such as in the settings file. */
  readonly others: ReadonlySignal<readonly string[]> = this.#others;
  /** Counts the ends of drafts: controls start again. */
  readonly resets: ReadonlySignal<number> = this.#resets;
  /** The checked changes, while the review is open. */
  readonly review: ReadonlySignal<CheckedSettings | null> = this.#review;
  /** The edited settings that another administrator changed meanwhile. */
  readonly conflicts: ReadonlySignal<readonly SettingsConflict[]> = this.#conflicts;
  /** The settings that saving would change. */
  readonly edited = computed(() => editedSettings(this.settings(), this.#draft.value));

  constructor({ session, calls }: SettingsModelDeps) {
    this.#calls = calls;
    this.page = createResource<SettingsAnswer>({ session });
  }

  /** The loaded settings; none before. */
  settings(): readonly Setting[] {
    return readyValue(this.page.state.value)?.settings ?? [];
  }

  /** What a setting can name with the draft; `null` for a setting that names nothing. */
  namesFor(setting: Setting): readonly string[] | null {
    const directories = readyValue(this.page.state.value)?.directories ?? [];
    return namesFor(setting, { settings: this.settings(), directories, draft: this.#draft.value });
  }

  /** What needs attention about the value in effect; `null` without a warning. */
  warningOf(key: string): SettingProblem | null {
    const warnings = readyValue(this.page.state.value)?.warnings ?? [];
    return warnings.find((one) => one.key === key) ?? null;
  }

  /** Loads the settings. An edited draft keeps the version that it began with, so that conflicts are found. */
  async open(): Promise<void> {
    if (this.edited.peek().length > 0) return;
    await this.page.load(this.#calls.read);
  }

  edit(setting: Setting, value: DraftValue): void {
    this.#draft.value = editDraft(this.#draft.peek(), { setting, value });
    const problems = new Map(this.#problems.peek());
    problems.delete(setting.key);
    this.#problems.value = this.edited.peek().length === 0 ? NO_PROBLEMS : problems;
    this.#others.value = [];
  }

  discard(): void {
    this.#draft.value = NO_DRAFT;
    this.#problems.value = NO_PROBLEMS;
    this.#others.value = [];
    this.#resets.value += 1;
    this.closeReview();
  }

  closeReview(): void {
    this.#review.value = null;
    this.#conflicts.value = [];
  }

  /** Shows what the server found in the values of the draft. */
  showFaults(faults: readonly SettingProblem[]): void {
    const problems = new Map<string, string>();
    const others: string[] = [];
    for (const fault of faults) {
      // A fault of an entry in a table belongs to the table.
      const setting = this.settings().find(({ key }) => `${fault.key}.`.startsWith(`${key}.`));
      if (setting === undefined) others.push(faultText(fault));
      else problems.set(setting.key, (setting.key === fault.key ? sentenceText : faultText)(fault));
    }
    this.#problems.value = problems;
    this.#others.value = others;
  }

  /** The changes of the draft as the API takes them, without values that are none. */
  changes(): FormChanges {
    return changesOfDraft(this.settings(), this.#draft.peek()).changes;
  }

  /** Checks the draft and opens the review. Resolves to the key of the first value that cannot be saved, or `null`. */
  async startReview(): Promise<string | null> {
    const { changes, problems } = changesOfDraft(this.settings(), this.#draft.peek());
    this.#problems.value = problems;
    if (problems.size > 0) return this.#firstProblem();
    const checked = await this.#calls.check(changes);
    this.showFaults(checked.faults);
    if (checked.faults.length > 0) return this.#firstProblem() ?? "";
    this.#review.value = checked;
    return null;
  }

  /**
   * Saves the draft.
   *
   * @throws ApiFailure for everything but a conflict and bad values.
   */
  async save(): Promise<SaveOutcome> {
    const version = readyValue(this.page.state.peek())?.version ?? "";
    const count = this.edited.peek().length;
    const saved = await this.#calls.save({ version, changes: this.changes() });
    if (saved.kind === "faults") {
      this.showFaults(saved.faults);
      this.closeReview();
      return { kind: "faults", first: this.#firstProblem() };
    }
    if (saved.kind === "conflict") {
      await this.#rebase(saved.conflicts);
      return { kind: "conflict" };
    }
    this.page.set(saved.state);
    this.discard();
    return { kind: "saved", auditId: saved.auditId, count };
  }

  /** Reads the settings again, so that the next save is on top of the other change. */
  async #rebase(conflicts: readonly SettingsConflict[]): Promise<void> {
    this.page.set(await this.#calls.read());
    const kept = new Map(this.#draft.peek());
    this.#conflicts.value = conflicts.filter(({ key }) => kept.has(key));
    // A value that the other administrator set as well is no change any more.
    let draft: FormDraft = NO_DRAFT;
    for (const setting of this.settings()) {
      const value = kept.get(setting.key);
      if (value !== undefined) draft = editDraft(draft, { setting, value });
    }
    this.#draft.value = draft;
    if (this.edited.peek().length > 0) this.#review.value = await this.#calls.check(this.changes());
  }

  /** Ends a conflict: the administrator keeps their own value, or takes the other one. */
  async resolve(key: string, keep: "mine" | "theirs"): Promise<void> {
    this.#conflicts.value = this.#conflicts.peek().filter((one) => one.key !== key);
    if (keep === "mine") return;
    const draft = new Map(this.#draft.peek());
    draft.delete(key);
    this.#draft.value = draft;
    if (this.edited.peek().length === 0) return this.closeReview();
    this.#review.value = await this.#calls.check(this.changes());
  }

  /** Reverts a saved change. @throws ApiFailure if a value changed since. */
  async undo(auditId: string): Promise<void> {
    this.page.set(await this.#calls.undo(auditId));
  }

  #firstProblem(): string | null {
    const problems = this.#problems.peek();
    return this.settings().find(({ key }) => problems.has(key))?.key ?? null;
  }
}
