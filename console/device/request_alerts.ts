// How an open page draws attention to a new request: the title, a sound and vibration. A notification of the service worker does the
// same for a page that is closed or hidden.

import { type ReadonlySignal, signal } from "@preact/signals";

interface AlertDeps {
  readonly setTitle: (count: number) => void;
  readonly isVisible: () => boolean;
  /** Whether the service worker shows notifications while the page is hidden. */
  readonly hasNotifications: () => boolean;
  readonly playSound: () => void;
  readonly vibrate: () => void;
  /** The stored choice. */
  readonly storage: Pick<Storage, "getItem" | "setItem"> | null;
}

const STORAGE_KEY = "countersign-sound";

export class RequestAlerts {
  readonly #deps: AlertDeps;
  readonly #sound: ReturnType<typeof signal<boolean>>;
  #known: ReadonlySet<string> = new Set();

  constructor(deps: AlertDeps) {
    this.#deps = deps;
    this.#sound = signal(deps.storage?.getItem(STORAGE_KEY) !== "off");
  }

  /** Whether new requests make a sound. */
  get sound(): ReadonlySignal<boolean | undefined> {
    return this.#sound;
  }

  setSound(isOn: boolean): void {
    this.#sound.value = isOn;
    this.#deps.storage?.setItem(STORAGE_KEY, isOn ? "on" : "off");
    if (isOn) this.#deps.playSound();
  }

  /** Takes the ids of the open requests and pairings. Alerts once for each new one. */
  update(ids: readonly string[]): void {
    const { setTitle, isVisible, hasNotifications, playSound, vibrate } = this.#deps;
    const isNew = ids.some((id) => !this.#known.has(id));
    this.#known = new Set(ids);
    setTitle(ids.length);
    // The notification of a hidden page has its own sound.
    if (!isNew || (!isVisible() && hasNotifications())) return;
    vibrate();
    if (this.#sound.value === true) playSound();
  }
}

const NOTES_HZ = [880, 1175];
const NOTE_S = 0.16;
const VOLUME = 0.2;

/** Two short tones, by Web Audio. Browsers allow sound only after a gesture, so the first one prepares it. */
export function createChime(target: Pick<EventTarget, "addEventListener">): () => void {
  let audio: AudioContext | null = null;
  const prepare = () => {
    if (!("AudioContext" in globalThis)) return;
    audio ??= new AudioContext();
    void audio.resume();
  };
  for (const type of ["pointerdown", "keydown"]) target.addEventListener(type, prepare, { once: true });
  return () => {
    const context = audio;
    if (context?.state !== "running") return;
    NOTES_HZ.forEach((frequency, at) => {
      const [tone, level] = [context.createOscillator(), context.createGain()];
      const startS = context.currentTime + at * NOTE_S;
      tone.frequency.value = frequency;
      level.gain.setValueAtTime(VOLUME, startS);
      level.gain.exponentialRampToValueAtTime(0.001, startS + NOTE_S);
      tone.connect(level).connect(context.destination);
      tone.start(startS);
      tone.stop(startS + NOTE_S);
    });
  };
}
