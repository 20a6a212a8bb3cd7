"""`tilevm lsp` under pytest-lsp, whose client reads every answer into the protocol's types.

    pip install pytest-lsp pytest-asyncio
    TILEVM=build/tilevm pytest tests/editors/pytest_lsp_test.py

`./dev test` installs these packages into .cache/editors (requirements.txt).
"""

import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.name for path in ROOT.glob("programs/*.tile"))


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ.get("TILEVM", "tilevm"), "lsp"]))
async def client(lsp_client: LanguageClient):
    await lsp_client.initialize_session(types.InitializeParams(
        capabilities=client_capabilities("visual-studio-code"), root_uri=ROOT.as_uri()))
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
@pytest.mark.parametrize("name", PROGRAMS)
async def test_every_feature_on_every_shipped_program(client: LanguageClient, name):
    path = ROOT / "programs" / name
    uri, text = path.as_uri(), path.read_text()
    lines = text.splitlines()
    document = types.TextDocumentIdentifier(uri)
    client.text_document_did_open(types.DidOpenTextDocumentParams(
        types.TextDocumentItem(uri=uri, language_id="tilevm", version=1, text=text)))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))

    line = next(i for i, one in enumerate(lines)
                if not one.lstrip().startswith("#") and any(call in one for call in ("LoadGlobal(", "CopyAsync(", "CopyAsyncTensorGlobalToShared(")))
    bracket = lines[line].index("(")
    hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(line, bracket - 2)))
    assert hover.contents.value
    inside = types.Position(line, bracket + 1)
    completion = await client.text_document_completion_async(types.CompletionParams(document, inside))
    assert any(item.label.endswith("=") for item in completion.items)
    assert (await client.text_document_signature_help_async(types.SignatureHelpParams(document, inside))).signatures
    assert await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert await client.text_document_code_lens_async(types.CodeLensParams(document))
    assert await client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    assert tokens.data and len(tokens.data) % 5 == 0
    await client.text_document_formatting_async(
        types.DocumentFormattingParams(document, types.FormattingOptions(4, True)))
    await client.text_document_code_action_async(types.CodeActionParams(
        document, whole, types.CodeActionContext(client.diagnostics[uri])))

    kernel = types.Position(next(i for i, one in enumerate(lines) if one.startswith("def ")), 5)
    assert await client.text_document_definition_async(types.DefinitionParams(document, kernel))
    assert await client.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(True), document, kernel))
    assert await client.text_document_document_highlight_async(types.DocumentHighlightParams(document, kernel))
    assert await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, kernel))
    renamed = await client.text_document_rename_async(types.RenameParams(document, kernel, "renamed_kernel"))
    assert renamed.changes[uri]
