/** The view's icons: a 16 px grid, strokes of 1.4, no fill. Shape tells apart what colour alone wouldn't. */
import type { JSX } from "preact";

const SHAPES = {
  play: <path d="M5 3.2v9.6l7.5-4.8z" />,
  over: (
    <>
      <path d="M2.5 8a5.5 5.5 0 0 1 10-3.1" />
      <path d="M13 2.2v3h-3" />
      <circle cx="8" cy="11.5" r="1.4" />
    </>
  ),
  into: (
    <>
      <path d="M8 1.8v6.4M5.2 5.6 8 8.4l2.8-2.8" />
      <circle cx="8" cy="12.6" r="1.4" />
    </>
  ),
  out: (
    <>
      <path d="M8 8.6V2.2M5.2 5 8 2.2 10.8 5" />
      <circle cx="8" cy="12.6" r="1.4" />
    </>
  ),
  to: <path d="M2.5 8h6.3M6.2 5 9.2 8l-3 3M12.5 3.5v9" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4" />
      <path d="m10 10 3.5 3.5" />
    </>
  ),
  open: (
    <path d="M9.5 2.5h4v4M13.5 2.5l-6 6M7 3.5H3.5a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1V9" />
  ),
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  up: <path d="M4.5 9.5 8 6l3.5 3.5" />,
  left: <path d="M9.5 4.5 6 8l3.5 3.5" />,
  right: <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />,
  pencil: (
    <>
      <path d="M3 13l.7-2.9 6.9-6.9a1 1 0 0 1 1.4 0l.8.8a1 1 0 0 1 0 1.4L5.9 12.3z" />
      <path d="m9.5 4.5 2 2" />
    </>
  ),
  cross: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m6 6 4 4M10 6l-4 4" />
    </>
  ),
  check: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m5.5 8.2 1.8 1.8 3.3-3.6" />
    </>
  ),
  tick: <path d="m3.5 8.5 3 3 6-6.5" />,
  halted: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M6.5 6v4M9.5 6v4" />
    </>
  ),
  crash: (
    <>
      <path d="M5.7 2.5h4.6l3.2 3.2v4.6l-3.2 3.2H5.7l-3.2-3.2V5.7z" />
      <path d="M8 5.2v3.4M8 10.9v.01" />
    </>
  ),
  warn: (
    <>
      <path d="M8 2.8 14 13H2z" />
      <path d="M8 6.5v3M8 11.2v.01" />
    </>
  ),
  unplug: <path d="M1.8 8h3.7M10.5 8h3.7M7.2 4.2 5.4 11.8M10.6 4.2 8.8 11.8" />,
  shield: <path d="M8 2.2 13 4v4c0 3-2 4.9-5 5.9C5 12.9 3 11 3 8V4zM8 5.5v3M8 10.6v.01" />,
  plug: <path d="M5.5 2.5V6M10.5 2.5V6M4 6h8v2.5a4 4 0 0 1-8 0zM8 12.5v1.8" />,
  spin: <path d="M8 2.5A5.5 5.5 0 1 1 2.5 8" />,
  agent: (
    <>
      <rect x="2.8" y="5.2" width="10.4" height="7.6" rx="2" />
      <path d="M8 5.2V2.8M6 8.4v1M10 8.4v1" />
    </>
  ),
  llm: (
    <path d="M8 2.2c.5 3.6 2.2 5.3 5.8 5.8-3.6.5-5.3 2.2-5.8 5.8-.5-3.6-2.2-5.3-5.8-5.8 3.6-.5 5.3-2.2 5.8-5.8z" />
  ),
  tools: (
    <path d="M13.3 5.2a3.4 3.4 0 0 1-4.6 3.9l-4 4a1.3 1.3 0 0 1-1.8-1.8l4-4a3.4 3.4 0 0 1 3.9-4.6L8.9 4.6l.5 2 2 .5z" />
  ),
  system: (
    <>
      <rect x="2.2" y="3" width="11.6" height="10" rx="1.5" />
      <path d="m5 6.3 1.9 1.7L5 9.7M8.5 10h2.5" />
    </>
  ),
  user: (
    <>
      <circle cx="8" cy="5.5" r="2.6" />
      <path d="M3 13.3c.5-2.6 2.4-3.9 5-3.9s4.5 1.3 5 3.9" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.2" />
      <path d="M10.5 5.5V3.7a1.2 1.2 0 0 0-1.2-1.2H3.7a1.2 1.2 0 0 0-1.2 1.2v5.6a1.2 1.2 0 0 0 1.2 1.2h1.8" />
    </>
  ),
  file: (
    <>
      <path d="M4 2.5h5l3 3v8H4z" />
      <path d="M9 2.5v3h3" />
    </>
  ),
  folder: (
    <path d="M2.2 4a1 1 0 0 1 1-1h3l1.5 1.7h5.1a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1H3.2a1 1 0 0 1-1-1z" />
  ),
  commit: (
    <>
      <circle cx="8" cy="8" r="2.6" />
      <path d="M8 1.5v3.9M8 10.6v3.9" />
    </>
  ),
  note: (
    <>
      <path d="M3 3h10v6.7L9.7 13H3z" />
      <path d="M13 9.7H9.7V13M5.5 6h5M5.5 8.5h2.5" />
    </>
  ),
  plus: <path d="M8 3v10M3 8h10" />,
  close: <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />,
  undo: (
    <>
      <path d="M5.5 3 2.5 6l3 3" />
      <path d="M2.7 6H9.5a3.6 3.6 0 0 1 0 7.2H6" />
    </>
  ),
  redo: (
    <>
      <path d="m10.5 3 3 3-3 3" />
      <path d="M13.3 6H6.5a3.6 3.6 0 0 0 0 7.2H10" />
    </>
  ),
  follow: <path d="M8 2.5v7.5M4.7 7 8 10.3 11.3 7M3.5 13.3h9" />,
  retry: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7" />
      <path d="M13.2 2v3h-3" />
    </>
  ),
  diamond: <path d="M8 2.5 13.5 8 8 13.5 2.5 8z" />,
  trash: (
    <>
      <path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5" />
    </>
  ),
  filter: <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  tag: (
    <>
      <path d="M2.5 3.5v4.3l5.7 5.7 5-5-5.7-5.7H3.2a.7.7 0 0 0-.7.7z" />
      <path d="M5.3 6.3v.01" />
    </>
  ),
  save: <path d="M8 2.5V10M5 7.2l3 3 3-3M3 11.5v2h10v-2" />,
  import: <path d="M8 10.3V2.8M5 5.6l3-3 3 3M3 11.5v2h10v-2" />,
  compare: <path d="M2.5 3h4v10h-4zM9.5 3h4v10h-4zM4.5 6v4M11.5 5v2" />,
  eye: <path d="M2 8c3-5 9-5 12 0-3 5-9 5-12 0zM8 6.4v3.2" />,
  bars: <path d="M3.5 13V8.5M8 13V3M12.5 13V6" />,
  keys: (
    <>
      <rect x="1.8" y="4" width="12.4" height="8" rx="1.3" />
      <path d="M4.5 6.7h.01M7 6.7h.01M9.5 6.7h.01M11.7 6.7h.01M5 9.5h6" />
    </>
  ),
} satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof SHAPES;

interface IconProps {
  name: IconName;
  /** 14 px instead of 16. */
  small?: boolean;
  /** Turn slowly; stands still for who prefers less motion. */
  spin?: boolean;
  class?: string;
}

/** One icon. It is decoration: what it means stands beside it in words, or in its button's label. */
export function Icon({ name, small, spin, class: extra }: IconProps) {
  const classes = ["as-Icon", small && "as-mod-s", spin && "as-Spin", extra];
  return (
    <svg class={classes.filter(Boolean).join(" ")} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}
