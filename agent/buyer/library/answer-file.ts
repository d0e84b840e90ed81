/**
 * Reads the files of `verify`: each form in which a buyer can hold an answer and its receipt. An error is one line that
 * names the file.
 */
import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { errorCode } from '../../../store/base/error-code.ts'
import { readUpTo } from '../../../store/files/bounded-read.ts'
import { parseStrictJson } from '../../../store/base/strict-json.ts'
import { parseSettlementResponse, readSettlementResponse, receiptOf, unwrapBody } from '../../payment/receipt/read.ts'
import type { SettlementResponse } from '../../payment/receipt/read.ts'
import { ANSWER_BYTES_MAX } from '../../../store/base/bounded-fetch.ts'
import { parsePurchase } from './purchase-file.ts'

/** A purchase file holds the answer as escaped text, with the request and the quote. */
const FILE_BYTES_MAX = 3 * ANSWER_BYTES_MAX

/** A receipt, and the settlement response around it if the file has one. */
interface FoundReceipt {
  receipt: string
  response: SettlementResponse | undefined
}

/** Reads a purchase, or an answer and the receipt in the same file, which an MCP result has. */
export async function readAnswerFile(file: string) {
  const json = parseText(unwrapEvent(await readTextFile(file)))
  if (json.kind === 'duplicate_name') throw new Error(`${file} repeats a member name`)
  if (json.kind === 'invalid') throw new Error(`${file} is not JSON`)
  if (typeof json.value !== 'object' || json.value === null || Array.isArray(json.value))
    throw new Error(`${file} is not an answer: it is not a JSON object`)
  const purchase = parsePurchase(json.value)
  if (purchase) return { kind: 'purchase', purchase } as const
  const { answer, response } = unwrapBody(json.value)
  if (answer === undefined) throw new Error(`${file} is not an answer: its text differs from its structuredContent`)
  const enclosed: FoundReceipt | undefined = response && { receipt: receiptOf(response), response }
  return { kind: 'answer', answer, enclosed } as const
}

/**
 * Reads a receipt: a JWT, the value or the line of a `PAYMENT-RESPONSE` header, its JSON, the `_meta` of an MCP result,
 * or the whole result.
 */
export async function readReceiptFile(file: string): Promise<FoundReceipt> {
  const text = unwrapEvent(await readTextFile(file)).trim()
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return { receipt: text, response: undefined }
  const json = parseText(text)
  if (json.kind === 'valid' && parsePurchase(json.value))
    throw new Error(`${file} is a purchase file: verify it without --receipt`)
  const response =
    json.kind === 'valid'
      ? (unwrapBody(json.value).response ?? parseSettlementResponse(json.value))
      : readSettlementResponse(findHeader(text) ?? text)
  if (response) return { receipt: receiptOf(response), response }
  throw new Error(`${file} has no receipt: neither a JWT nor a settlement response (PAYMENT-RESPONSE) with one`)
}

/** @throws an error if the file is larger than any of these files, or not UTF-8 without a byte order mark */
export async function readTextFile(file: string): Promise<string> {
  const fail = (cause: unknown) =>
    Promise.reject(new Error(`${file} cannot be read (${errorCode(cause) ?? 'unknown error'})`, { cause }))
  // Without `O_NONBLOCK`, opening a pipe waits for a writer.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(fail)
  if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a regular file`)
  const bytes = await readUpTo(handle, FILE_BYTES_MAX).catch(fail)
  if (!bytes) throw new Error(`${file} is larger than ${FILE_BYTES_MAX} bytes`)
  if (!isUtf8(bytes)) throw new Error(`${file} is not UTF-8 text`)
  const text = bytes.toString()
  if (text.startsWith('\uFEFF')) throw new Error(`${file} begins with a byte order mark: save it as UTF-8 without one`)
  return text
}

const parseText = (text: string) => parseStrictJson(new TextEncoder().encode(text))

/** The data of a body of one server-sent event, the form in which an MCP server can answer. */
function unwrapEvent(text: string): string {
  return /^(?:event: message\r?\n)?data: ([^\r\n]*)$/.exec(text.trimEnd())?.[1] ?? text
}

/** The value of the header among header lines, as `curl -D` saves them. Undefined unless there is exactly one. */
function findHeader(text: string): string | undefined {
  const values = [...text.matchAll(/^payment-response:[ \t]*(\S+)[ \t]*\r?$/gim)]
  return values.length === 1 ? values[0]?.[1] : undefined
}
