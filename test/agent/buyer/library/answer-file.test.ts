/** The forms in which a buyer can hold an answer and a receipt, and files that are none of them. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Message } from '@a2a-js/sdk'
import { expect } from 'chai'
import { runCommand } from '../../../support/cli.ts'
import {
  ANSWERS,
  claimsFor,
  keySetOf,
  makeReceiptKey,
  receiptFor,
  type TestKey,
} from '../../../support/signed-receipt.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

const FILE_BYTES_MAX = 6 * 1024 * 1024
const answer = ANSWERS['search'] ?? expect.fail('no answer')
const answerJson = JSON.stringify(answer)

describe('[5.9.6] the files of verify', () => {
  let directory: string
  let jwks: string
  let key: TestKey
  let receipt: string
  let settlement: object

  before(async () => {
    directory = await makeTemporaryDirectory()
    key = await makeReceiptKey()
    receipt = receiptFor(key, answer)
    jwks = await save('jwks', JSON.stringify(keySetOf(key)))
    const { transaction, network, payer, amount } = claimsFor(answer).payment
    const extensions = { 'payment-receipt': { info: { receipt } } }
    settlement = { success: true, transaction, network, payer, amount, extensions }
  })

  async function save(name: string, content: string | Uint8Array): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, content)
    return path
  }
  const verify = (...args: string[]) => runCommand(['verify', ...args, '--jwks', jwks], { fetch: () => expect.fail() })
  async function expectValid(form: string, ...args: string[]) {
    const { code, text, stderr } = await verify(...args)
    expect(code, `${form}: ${text}${stderr}`).to.equal(0)
  }
  async function expectOneLine(line: string, ...args: string[]) {
    const { code, text, stderr } = await verify(...args)
    expect([code, text, stderr]).to.deep.equal([1, '', `${line}\n`])
  }

  const header = () => Buffer.from(JSON.stringify(settlement)).toString('base64')
  const metaOf = (response: object) => ({ 'x402/payment-response': response })
  const rpc = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })
  const message = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ data: answer, mediaType: 'application/json' }] }
  const parts = [{ type: 'text', text: answerJson }]
  const toolResult = () => ({ content: parts, structuredContent: answer, _meta: metaOf(settlement) })

  it('can be each form of a receipt', async () => {
    const body = await save('answer', answerJson)
    const forms: Record<string, string> = {
      jwt: `${receipt}\n`,
      header: `${header()}\r\n`,
      'header lines': `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nPayment-Response: ${header()}\r\n\r\n`,
      'settlement response': JSON.stringify(settlement, null, 2),
      _meta: JSON.stringify({ 'io.example/other': 1, ...metaOf(settlement) }),
      'tool result': JSON.stringify(toolResult()),
      'mcp body': JSON.stringify(rpc(toolResult())),
    }
    for (const [form, text] of Object.entries(forms))
      await expectValid(form, body, '--receipt', await save('receipt', text))
  })

  it('can be each form of an answer', async () => {
    const path = await save('receipt', header())
    const forms: Record<string, unknown> = {
      'rest body': answer,
      'a2a body': rpc({ message }),
      'a2a result': { message },
      'a2a message': message,
      'a2a message of the SDK': Message.fromJSON(message),
      'tool result without a receipt': { ...toolResult(), _meta: undefined },
    }
    for (const [form, value] of Object.entries(forms))
      await expectValid(form, await save('answer', JSON.stringify(value)), '--receipt', path)
  })

  it('need no receipt file for the result of a tool', async () => {
    const body = JSON.stringify(rpc({ ...toolResult(), resultType: 'complete' }))
    for (const text of [JSON.stringify({ ...toolResult(), isError: false }), body, `event: message\ndata: ${body}\n\n`])
      await expectValid(text, await save('result', text))
    const other = { ...toolResult(), _meta: metaOf({ ...settlement, amount: '1' }) }
    const { code, lines } = await verify(await save('result', JSON.stringify(other)))
    const [failed, ...more] = lines.filter((line) => line.includes('FAILED'))
    expect([code, failed, more]).to.deep.equal([1, `response  FAILED  transaction 0x${'ab'.repeat(32)}`, []])
  })

  it('can be events whose JSON has a line separator, U+2028', async () => {
    const lookup = ANSWERS['lookup'] ?? expect.fail('no answer')
    const { _meta, ...result } = toolResult()
    const text = JSON.stringify(lookup)
    const body = JSON.stringify(rpc({ ...result, content: [{ type: 'text', text }], structuredContent: lookup }))
    expect(body).to.include('\u2028')
    const path = await save('receipt', receiptFor(key, lookup))
    for (const end of ['\n\n', '\r\n\r\n', ''])
      await expectValid(body, await save('event', `event: message\ndata: ${body}${end}`), '--receipt', path)
  })

  it('cannot be pipes, which would block, or devices', async () => {
    const pipe = join(directory, 'pipe')
    await promisify(execFile)('mkfifo', [pipe])
    for (const path of [pipe, '/dev/zero', directory]) await expectOneLine(`${path} is not a regular file`, path)
  })

  it('do not verify with other data around the answer', async () => {
    const path = await save('receipt', header())
    const sdk = Message.toJSON(Message.fromJSON(message)) as object
    const forged: unknown[] = [
      { ...message, metadata: { company: 'forged' } },
      { message, company: 'forged' },
      { ...sdk, parts: [...message.parts, { text: 'forged' }] },
      { ...Message.fromJSON(message), contextId: 'forged' },
      { ...toolResult(), company: 'forged' },
      { ...toolResult(), isError: true },
      { task: { id: 'a', status: { message } } },
      { result: toolResult() },
    ]
    for (const value of forged) {
      const { code, text } = await verify(await save('answer', JSON.stringify(value)), '--receipt', path)
      expect([code, text.includes('answer    FAILED')], JSON.stringify(value)).to.deep.equal([1, true])
    }
  })

  it('fail with one line if they are no answer', async () => {
    const path = join(directory, 'answer')
    const none = 'is neither a purchase nor an answer with its receipt: add --receipt'
    const differs = 'its text differs from its structuredContent'
    const cases: [content: string | Uint8Array, line: string][] = [
      ['', 'is not JSON'],
      ['garbage', 'is not JSON'],
      [header(), 'is not JSON'],
      [`data: ${answerJson}\n\ndata: ${answerJson}\n\n`, 'is not JSON'],
      ['[]', 'is not an answer: it is not a JSON object'],
      ['{"a":1,"a":1}', 'repeats a member name'],
      ['{}', none],
      [answerJson, none],
      [JSON.stringify(message), none],
      [JSON.stringify({ ...toolResult(), _meta: metaOf({ ...settlement, success: false }) }), none],
      [JSON.stringify({ ...toolResult(), structuredContent: {} }), `is not an answer: ${differs}`],
      [`\uFEFF${answerJson}`, 'begins with a byte order mark: save it as UTF-8 without one'],
      [Buffer.from(`\uFEFF${answerJson}`, 'utf16le'), 'is not UTF-8 text'],
      [Buffer.alloc(FILE_BYTES_MAX + 1, 'a'), `is larger than ${FILE_BYTES_MAX} bytes`],
      [Buffer.alloc(FILE_BYTES_MAX, 'a'), 'is not JSON'],
      [`${answerJson}${' '.repeat(FILE_BYTES_MAX - Buffer.byteLength(answerJson))}`, none],
      [`data: ${' '.repeat(FILE_BYTES_MAX - 8)}\na`, 'is not JSON'],
    ]
    for (const [content, line] of cases) await expectOneLine(`${path} ${line}`, await save('answer', content))
    await expectOneLine(`${path}/a cannot be used (ENOTDIR)`, join(path, 'a'))
    await expectOneLine(`${path}-none does not exist`, `${path}-none`)
  })

  it('fail with one line if they have no receipt', async () => {
    const body = await save('answer', answerJson)
    const path = join(directory, 'receipt')
    const none = 'has no receipt: neither a JWT nor a settlement response (PAYMENT-RESPONSE) with one'
    const { extensions: _, ...withoutReceipt } = settlement as { extensions: object }
    const values = [message, withoutReceipt, { ...settlement, success: false }, { ...settlement, payer: 7 }]
    const contents = ['', 'garbage', '[]', '{}', answerJson, ...values.map((value) => JSON.stringify(value))]
    contents.push(
      JSON.stringify(settlement).replace('{', '{"success":true,'),
      Buffer.from(JSON.stringify(withoutReceipt)).toString('base64'),
      `${header()} ${header()}`,
      `payment-response: ${header()}\npayment-response: ${header()}`,
    )
    for (const content of contents)
      await expectOneLine(`${path} ${none}`, body, '--receipt', await save('receipt', content))
  })
})
