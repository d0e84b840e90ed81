/**
 * Elements and texts of XML as they are read, without a tree. Names have no prefix. A document type is refused, so
 * nothing can define entities. Runs in browsers too.
 */
import { decodeXML } from 'entities'

/** What happens at each part of the document. `attributes` is read by `attributeOf`. */
export interface XmlHandler {
  open: (name: string, attributes: string) => void
  close?: (name: string) => void
  /** A text, or a piece of it. */
  text?: (text: string) => void
}

/** Of an element or a text. Those of a sheet are shorter. */
const TOKEN_CHARACTERS_MAX = 2 * 1024 * 1024
const LONGEST_START = '<![CDATA['.length

export async function scanXml(bytes: AsyncIterable<Uint8Array>, handler: XmlHandler): Promise<void> {
  let rest = ''
  for await (const text of decode(bytes)) {
    rest = scan(rest + text, handler, false)
    if (rest.length > TOKEN_CHARACTERS_MAX) throw new Error('An element or a text of the XML is too long')
  }
  if (scan(rest, handler, true).trim() !== '') throw new Error('The XML ends within an element')
}

/** Returns what is not complete. */
function scan(text: string, { open, close, text: take }: XmlHandler, isLast: boolean): string {
  for (let at = 0; ;) {
    const start = text.indexOf('<', at)
    if (start < 0) return text.slice(at)
    if (!isLast && text.length - start < LONGEST_START) return text.slice(at)
    const [mark, endMark] = sectionAt(text, start)
    const end = mark === '' ? findEnd(text, start) : text.indexOf(endMark, start + mark.length)
    if (end < 0) return text.slice(at)
    if (start > at) take?.(toText(text.slice(at, start)))
    at = end + endMark.length
    if (mark === '<![CDATA[') take?.(text.slice(start + mark.length, end))
    if (mark === '<!') throw new Error('The XML has a document type')
    if (mark !== '') continue
    if (text[start + 1] === '/') {
      close?.(localName(text.slice(start + 2, end)))
      continue
    }
    const isEmpty = text[end - 1] === '/'
    const element = text.slice(start + 1, isEmpty ? end - 1 : end)
    const [name = ''] = /^[^\s/]+/.exec(element) ?? []
    open(localName(name), element.slice(name.length))
    if (isEmpty) close?.(localName(name))
  }
}

const toText = (raw: string): string => {
  const text = raw.includes('\r') ? raw.replaceAll(/\r\n?/g, '\n') : raw
  return text.includes('&') ? decodeXML(text) : text
}

/** What is no element. */
const SECTIONS = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
] as const

function sectionAt(text: string, start: number): readonly [mark: string, endMark: string] {
  const second = text[start + 1]
  const found = second === '!' || second === '?' ? SECTIONS.find(([mark]) => text.startsWith(mark, start)) : undefined
  return found ?? ['', '>']
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1).trimEnd()

/** The end of an element. A `>` in the value of an attribute is none. */
function findEnd(text: string, start: number): number {
  let end = text.indexOf('>', start)
  for (let at = start + 1; at < end; at += 1) {
    const mark = text[at]
    if (mark !== '"' && mark !== "'") continue
    at = text.indexOf(mark, at + 1)
    if (at < 0) return -1
    if (at > end) end = text.indexOf('>', at)
  }
  return end
}

const ATTRIBUTES = new Map<string, RegExp>()

/** The value of an attribute, with any prefix. */
export function attributeOf(attributes: string, name: string): string | undefined {
  const known = ATTRIBUTES.get(name)
  const pattern = known ?? new RegExp(`(?:^|\\s)(?:\\w+:)?${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`)
  if (!known) ATTRIBUTES.set(name, pattern)
  const [, double, single] = pattern.exec(attributes) ?? []
  const value = double ?? single
  return value?.includes('&') ? decodeXML(value).trim() : value?.trim()
}

/** By the byte order mark, the first character or the declaration. */
async function* decode(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  for await (const part of bytes) {
    decoder ??= new TextDecoder(encodingOf(part))
    const text = decoder.decode(part, { stream: true })
    if (text !== '') yield text
  }
  const last = decoder?.decode() ?? ''
  if (last !== '') yield last
}

function encodingOf(start: Uint8Array): string {
  const [first = 0, second = 0] = start
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be'
  const declaration = new TextDecoder('latin1').decode(start.subarray(0, 200))
  const [, declared = 'utf-8'] = /^[^<]*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(declaration) ?? []
  // A text of single bytes cannot be in UTF-16, whatever it declares.
  return /^utf-?16/i.test(declared) ? 'utf-8' : declared
}
