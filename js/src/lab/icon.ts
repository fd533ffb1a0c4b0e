/** The debugger's icon, in the manner of JupyterLab's: 16 px, its colour that of the theme. */
export const ICON = `
<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <g class="jp-icon3" style="fill: none" stroke="#616161" stroke-width="1.4"
     stroke-linecap="round" stroke-linejoin="round">
    <path d="M2.5 7a5.5 5.5 0 0 1 10-2.6"/>
    <path d="M13 1.7v3h-3"/>
    <rect x="4" y="8.6" width="8" height="5.2" rx="1.4"/>
    <path d="M6.6 10.7v1M9.4 10.7v1"/>
  </g>
</svg>`;
