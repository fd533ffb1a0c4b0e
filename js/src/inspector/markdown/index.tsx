/**
 * A text as Markdown, where a person asks for it: a chunk of its own.
 *
 * `marked` makes HTML of it and DOMPurify leaves of that a few tags without attributes. Nothing in it leads
 * anywhere or is fetched: links and images are named with their addresses, and HTML in the text is text.
 */

import type { Config } from "dompurify";
import DOMPurify from "dompurify";
import { Marked, type Tokens } from "marked";
import { useLayoutEffect, useRef } from "preact/hooks";
import styles from "../../styles/markdown.css";
import { escapeInvisible } from "../../view/format";

export { styles };

const LINES = ["p", "br", "hr", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"];
const WORDS = ["strong", "em", "del", "code", "pre"];
const LISTS = ["ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"];

const ALLOWED = {
  ALLOWED_TAGS: [...LINES, ...WORDS, ...LISTS],
  ALLOWED_ATTR: [],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} as const satisfies Config;

const marked = new Marked({
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    link({ href, tokens }) {
      return `${this.parser.parseInline(tokens)} ${address(href)}`;
    },
    image: ({ href, text }: Tokens.Image) => `${escaped(text || "image")} ${address(href)}`,
  },
});

/** What is shown of a text: made of elements that can do nothing. */
export function elementsOf(text: string): DocumentFragment {
  return DOMPurify.sanitize(marked.parse(escapeInvisible(text)) as string, ALLOWED);
}

export function Markdown({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.replaceChildren(elementsOf(text)), [text]);
  return <div ref={box} class="as-Markdown" />;
}

const address = (href: string) => `(<code>${escaped(href)}</code>)`;

const SIGNS: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => SIGNS[sign] ?? sign);
}
