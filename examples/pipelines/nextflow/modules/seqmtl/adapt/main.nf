process SEQMTL_ADAPT {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(model), path(windows), path(genome), val(like), path(introns)
    path tree

    output:
    tuple val(meta), path("${prefix}.adapted.seqmtl"), emit: model
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def source = model ?: "starter:${meta.signal}"
    def genome_option = genome ? "--genome '${meta.id}=$genome'" : ''
    def like_option = like ? "--like '$like'" : ''
    def introns_option = introns ? "--introns $introns" : ''
    def tree_option = tree ? "--tree $tree" : ''
    """
    seqmtl adapt $source $windows --organism '${meta.id}' $genome_option $like_option \\
        $introns_option $tree_option --threads $task.cpus $args -o ${prefix}.adapted.seqmtl
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.adapted.seqmtl
    """
}
