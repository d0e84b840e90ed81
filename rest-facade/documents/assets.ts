/** Script and style of the page: files that the build has written to dist/page/assets, with a hash in their name. */
import { readFileSync } from 'node:fs'
import { readTemplate } from './templates.ts'

const ASSETS_PATH = '/assets/'

/** The files that an entry needs, its own first. Those of `later` are loaded by a script when they are needed. */
const manifest = JSON.parse(readPageFile('assets.json')) as Record<'style' | 'later' | Script, string[]> & {
  integrity: Record<string, string>
}

type Script = 'main' | 'guide'

/** A file that the build has written from the folder `page`. */
export function readPageFile(name: string): string {
  return readTemplate(name, '#root/dist/page')
}

/** The files by path. Their content never changes. */
export const ASSETS: ReadonlyMap<string, { type: string; text: string }> = new Map(
  Object.keys(manifest.integrity).map((file) => [
    `${ASSETS_PATH}${file}`,
    {
      type: file.endsWith('.css') ? 'text/css' : 'text/javascript',
      text: readFileSync(new URL(import.meta.resolve(`#root/dist/page/assets/${file}`)), 'utf8'),
    },
  ]),
)

interface Loaded {
  baseUrl: string
  scripts: readonly Script[]
}

/** URLs are absolute, so that the page also says under another address where it can be used. */
const urlOf = (baseUrl: string, file: string) => `${baseUrl}${ASSETS_PATH}${file}`

const laterOf = (scripts: readonly Script[]) => (scripts.includes('main') ? manifest.later : [])

/** The elements of the head that load the files of a document. */
export function assetElements({ baseUrl, scripts }: Loaded): string {
  const attributes = (file: string, name: 'href' | 'src') =>
    `${name}="${urlOf(baseUrl, file)}" integrity="${manifest.integrity[file]}" crossorigin="anonymous"`
  const preload = (file: string) => `<link rel="modulepreload" ${attributes(file, 'href')} />`
  const later = laterOf(scripts).map(preload)
  return [
    exactPolicy({ baseUrl, scripts }),
    ...manifest.style.map((file) => `<link rel="stylesheet" ${attributes(file, 'href')} />`),
    ...scripts.flatMap((name) => manifest[name].slice(1)).map(preload),
    ...scripts.map((name) => `<script type="module" ${attributes(manifest[name][0] ?? '', 'src')}></script>`),
    // The script adds these to the head before it imports them.
    ...(later.length > 0 ? [`<template id="later">${later.join('')}</template>`] : []),
  ].join('\n')
}

/** Names exactly the files of a document. It is in the document, because it would exceed the headers of a 402. */
function exactPolicy({ baseUrl, scripts }: Loaded): string {
  const urls = (files: readonly string[]) => files.map((file) => ` ${urlOf(baseUrl, file)}`).join('') || " 'none'"
  const scriptFiles = [...scripts.flatMap((name) => manifest[name]), ...laterOf(scripts)]
  const policy = `style-src${urls(manifest.style)}; script-src${urls(scriptFiles)}`
  return `<meta http-equiv="Content-Security-Policy" content="${policy}" />`
}

/** The policy in the headers of a document. It names the folder. */
export function policyOf({ baseUrl, scripts }: Loaded): string {
  const folder = urlOf(baseUrl, '')
  return [
    "default-src 'none'",
    `style-src ${folder}`,
    ...(scripts.length > 0 ? [`script-src ${folder}`, "connect-src 'self'"] : []),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
