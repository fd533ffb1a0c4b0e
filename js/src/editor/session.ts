/** One edit: the JSON text, its fields, what is wrong with it, and the draft that it leaves behind. */
import { batch, computed, type Signal, signal } from "@preact/signals";
import { type Problem, parse, sameJson, Value } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { opaqueValueOf, problemOf } from "../inspector/opaque_values";
import { documentOf } from "../inspector/parsed/content";
import type { ContentShape } from "../inspector/title";
import { SCHEMA_MISFIT } from "../model/controls";
import {
  addArgument,
  addMessage,
  type CallArguments,
  callArguments,
  type Field,
  fieldsOf,
  literalOf,
  type Messages,
  messageOrigins,
  messagesOf,
  removeMessage,
  replaceField,
  sameField,
  swapMessages,
} from "./fields";
import { type Misfit, misfitsOf, type Schema, textOf } from "./schema";

/** A field's text that isn't JSON (yet). */
interface InvalidField {
  readonly field: Field;
  readonly input: string;
  readonly words: string;
}

/** Texts that can be gone back to. */
const MOST_UNDONE = 100;
/** Larger texts get no fields: JSON alone. */
const MOST_FOR_FIELDS = 2_000_000;

export class EditSession {
  /** The original, laid out as the edit is: what both are compared by. */
  readonly original: string;
  readonly #serverDraft: string;
  readonly #text = signal("");
  /** The last text without a problem; null where there was none yet. */
  readonly #valid = signal<Value | null>(null);
  readonly #problem = signal<Problem | null>(null);
  readonly #invalidField = signal<InvalidField | null>(null);
  readonly #originals: ReadonlyMap<string, Field>;
  readonly #originalFields: readonly Field[];
  readonly #originalMessages: Messages | null;

  /**
   * @param original What the agent sent.
   * @param standing What is sent without a draft: an edit that is set, or the original.
   * @param draft Where editing goes on.
   */
  constructor(
    readonly shape: ContentShape,
    original: string,
    standing: string,
    draft?: string,
  ) {
    this.original = layOut(original);
    const root = this.#fieldable(original) ? documentOf(this.original) : undefined;
    this.#originalFields = root ? fieldsOf(shape, root) : [];
    this.#originalMessages = root ? messagesOf(shape, root) : null;
    this.#originals = new Map(this.#originalFields.map((one) => [one.id, one]));
    this.#serverDraft = layOut(standing);
    this.setText(draft === undefined ? this.#serverDraft : layOut(draft));
  }

  /** The JSON text as it stands in the editor. */
  get text(): string {
    return this.#text.value;
  }

  /** The arguments of the last valid call; null where there are none by name. */
  readonly args = computed<CallArguments | null>(() => {
    const valid = this.#valid.value;
    return valid && this.shape === "call" ? callArguments(valid) : null;
  });
  /** The schema of the call's arguments, once it is here. */
  readonly schema = signal<Schema | null>(null);
  /** Whether the person sends a call that doesn't fit it. */
  readonly allowsMisfits = signal(false);
  /** Where the last valid call doesn't fit. */
  readonly misfits = computed<readonly Misfit[]>(() => {
    const schema = this.schema.value;
    const outer = this.shape === "call" ? this.#valid.value?.get("Argument") : undefined;
    // A list or null doesn't fit; a text that isn't JSON is a call of another kind.
    const isOther = outer?.string === undefined && !outer?.members;
    const args = this.args.value?.object ?? (isOther ? outer : undefined);
    return schema && args ? misfitsOf(schema, JSON.parse(args.literal)) : [];
  });
  /** Why the edit isn't to be sent now; null where it may be. */
  readonly hold = computed(() => {
    const [misfit] = this.misfits.value;
    const isHeld = misfit && this.draft.value !== null && !this.allowsMisfits.value;
    return this.error.value ?? (isHeld ? `${SCHEMA_MISFIT}${textOf(misfit)}` : null);
  });

  readonly #past = signal<readonly string[]>([]);
  readonly #future = signal<readonly string[]>([]);
  #origin = "";
  /** Whether there is a text to go back to, or forward to. */
  readonly canUndo = computed(() => this.#past.value.length > 0);
  readonly canRedo = computed(() => this.#future.value.length > 0);

  readonly problem = computed(() => this.#problem.value);
  readonly invalidField = computed(() => this.#invalidField.value);

  /** Why this can't be sent, in a sentence; null where it can. */
  readonly error = computed(() => {
    const invalidField = this.#invalidField.value;
    if (invalidField) return `${invalidField.field.label}: ${invalidField.words}.`;
    return this.#problem.value?.describe(this.#text.value) ?? null;
  });

  /** The fields of the last valid JSON. */
  readonly fields = computed<readonly Field[]>(() => {
    const valid = this.#valid.value;
    if (!valid) return this.#originalFields;
    return this.#fieldable(valid.text) ? fieldsOf(this.shape, valid) : [];
  });

  /** The messages of the last valid JSON; null where there is no list of them. */
  readonly messages = computed<Messages | null>(() => {
    const valid = this.#valid.value;
    return valid && this.#fieldable(valid.text) ? messagesOf(this.shape, valid) : null;
  });

  readonly #origins = computed(() => {
    const messages = this.messages.value;
    return messages && this.#originalMessages && messageOrigins(messages, this.#originalMessages);
  });

  readonly changed = computed(() => this.fields.value.filter((one) => this.isChanged(one)));

  /** What is to be sent; null where that says the same as what is sent anyway. */
  readonly draft = computed(() => {
    const invalidField = this.#invalidField.value;
    const text = invalidField
      ? replaceField(this.#text.value, invalidField.field, invalidField.input)
      : this.#text.value;
    return sameJson(text, this.#serverDraft) ? null : text;
  });

  isChanged(field: Field): boolean {
    if (this.#invalidField.value?.field.id === field.id) return true;
    const original = this.originalOf(field);
    return original === undefined || !sameField(original, field);
  }

  /** What a field was in the original, wherever its message stood there; undefined: it is the person's. */
  originalOf({ id, group }: Field): Field | undefined {
    const messages = this.messages.value;
    const now = this.#origins.value;
    if (!messages || !now || group?.message === undefined) return this.#originals.get(id);
    const origin = now[group.message];
    if (origin == null) return undefined;
    const start = `${messages.prefix}${group.message}`;
    return this.#originals.get(`${messages.prefix}${origin}${id.slice(start.length)}`);
  }

  /** Whether a field can be changed: no mark, and none while they show another text than the JSON below. */
  canEdit(field: Field): boolean {
    if (this.#problem.value || opaqueValueOf(field.value)) return false;
    const invalidField = this.#invalidField.value;
    return invalidField === null || invalidField.field.id === field.id;
  }

  /** Why no message can be put in, taken out or moved now; null where it can. */
  readonly messagesDisabledReason = computed(() =>
    this.error.value === null ? null : "Correct the JSON first",
  );

  addMessage(role: string): void {
    this.#withMessages((messages) => addMessage(messages, role));
  }

  removeMessage(at: number): void {
    this.#withMessages((messages) => removeMessage(messages, at));
  }

  /** Put a message in the next one's place. */
  swapMessages(at: number): void {
    this.#withMessages((messages) => swapMessages(messages, at));
  }

  /** Put an argument into the call. */
  addArgument(key: string, literal: string): void {
    const args = this.args.peek();
    if (!args || this.messagesDisabledReason.peek() !== null) return;
    this.setText(addArgument(args, key, literal), "argument");
  }

  /** Go back to the text before the last change; what was typed in one field is one change. */
  undo(): void {
    this.#move(this.#past, this.#future);
  }

  redo(): void {
    this.#move(this.#future, this.#past);
  }

  #move(from: Signal<readonly string[]>, to: Signal<readonly string[]>): void {
    const text = from.peek().at(-1);
    if (text === undefined) return;
    batch(() => {
      to.value = [...to.peek(), this.#text.peek()];
      from.value = from.peek().slice(0, -1);
      this.#origin = "";
      this.#setText(text);
    });
  }

  #withMessages(change: (messages: Messages) => string): void {
    const messages = this.messages.peek();
    if (messages && this.messagesDisabledReason.peek() === null)
      this.setText(change(messages), "messages");
  }

  /**
   * Set the text: the one that the JSON, the fields and the draft are all read from.
   *
   * @param origin Changes of one origin in a row are undone together; "" isn't undone.
   */
  setText(text: string, origin = ""): void {
    if (text !== this.#text.peek() && origin !== "") {
      const isOne = origin === this.#origin && !["messages", "argument"].includes(origin);
      if (!isOne) this.#past.value = [...this.#past.peek(), this.#text.peek()].slice(-MOST_UNDONE);
      this.#future.value = [];
    }
    this.#origin = origin;
    this.#setText(text);
  }

  #setText(text: string): void {
    const parsed = parse(text);
    const problem = problemOf(this.shape, this.original, text, parsed);
    batch(() => {
      this.#invalidField.value = null;
      this.#text.value = text;
      this.#problem.value = problem;
      if ("root" in parsed && !problem) this.#valid.value = new Value(text, parsed.root);
    });
  }

  /** @param drawn The field as it was drawn: the text may have changed since. */
  setField(drawn: Field, input: string): void {
    const field = this.#now(drawn);
    if (!field || !this.canEdit(field)) return;
    const literal = literalOf(field, input);
    const parsed = parse(literal);
    if ("problem" in parsed) {
      this.#invalidField.value = { field, input, words: parsed.problem.words };
      return;
    }
    this.setText(replaceField(this.#text.value, field, literal), `field ${field.id}`);
  }

  restore(drawn: Field): void {
    const field = this.#now(drawn);
    const original = field && this.originalOf(field);
    if (!field || !original) return;
    this.setText(replaceField(this.#text.value, field, original.value.literal), "messages");
  }

  discard(): void {
    this.setText(this.#serverDraft, "messages");
  }

  /** Go on from a draft that another view has changed; null: there is none any more. */
  applyDraft(draft: string | null): void {
    this.setText(draft === null ? this.#serverDraft : layOut(draft));
  }

  /** A field where it stands in the text now. */
  #now({ id }: Field): Field | undefined {
    return this.fields.peek().find((one) => one.id === id);
  }

  #fieldable(text: string): boolean {
    return text.length <= MOST_FOR_FIELDS;
  }
}

/**
 * JSON on one line is laid out; JSON that somebody laid out is left alone, but for its line ends, which the
 * code editor makes alike (inside a string they are escaped anyway).
 */
function layOut(text: string): string {
  return text.includes("\n") ? text.replace(/\r\n?/g, "\n") : pretty(text);
}
